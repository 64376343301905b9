// Why bytes are no XML that is read here, and in which line.

/// The first thing that is wrong with a text.
struct XMLError: Error {
    /// The kinds of faults that callers tell apart.
    enum Kind {
        /// It breaks the rules of XML, or uses a part of XML that neither model files nor property lists have.
        case malformed
        /// It is well formed so far, and more than is read.
        case tooLarge
    }

    let kind: Kind
    let line: Int
    /// What is wrong, and what would be right.
    let message: String
}
