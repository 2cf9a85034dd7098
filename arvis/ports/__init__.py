"""The interfaces between packages, one file for each subject: protocols and the data types that they use."""
