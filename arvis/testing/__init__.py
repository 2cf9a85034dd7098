"""Small real implementations and conformance suites for people who extend Arvis. Only tests and benchmarks import this
package."""
