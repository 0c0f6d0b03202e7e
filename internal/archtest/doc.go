// Package archtest holds the architecture as a test: which package may import
// which, what pure packages may not touch, and that every package says what it
// is for. It contains no code that anything uses.
package archtest
