/** The parts of a browser that modules of the dashboard read when they are loaded: the languages, and an empty storage. */

class MemoryStorage {
  readonly #values = new Map<string, string>();

  getItem = (key: string): string | null => this.#values.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.#values.set(key, value);
  removeItem = (key: string): void => void this.#values.delete(key);
}

const define = (name: string, value: unknown) => Object.defineProperty(globalThis, name, { value, configurable: true });

define("localStorage", new MemoryStorage());
define("navigator", { languages: ["en-GB"] });
