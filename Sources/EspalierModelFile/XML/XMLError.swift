// The reason why bytes cannot be read as XML, and the line.

/// The first fault in a document.
package struct XMLError: Error {
    /// The kinds of faults that callers distinguish.
    package enum Kind {
        /// The document breaks the rules of XML, or uses a part of XML that neither model files nor property lists use.
        case malformed
        /// The document exceeds a limit; it is well formed up to this point.
        case tooLarge
    }

    package let kind: Kind
    package let line: Int
    /// A clause that says what is wrong and what would be right.
    package let message: String
}
