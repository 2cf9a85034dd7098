from dataclasses import dataclass as dataclass
from dataclasses import replace as replace
