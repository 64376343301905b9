// The syntax tree of a MATCHES pattern.

/// A node of a pattern.
indirect enum PatternNode: Sendable {
    /// A condition on a position that consumes no text.
    enum Assertion: Sendable {
        case textStart
        case textEnd
        /// The end of the text, or a line end that is the last thing in the text: `\Z`.
        case lastLineEnd
        case lineStart
        case lineEnd
        case wordEdge
        case noWordEdge
    }

    /// The order in which alternatives are tried; it only matters with back-references and atomic groups.
    enum Preference: Sendable {
        case greedy
        case lazy
        /// Consumed text is not given back.
        case possessive
    }

    /// One scalar from a set.
    case scalars(ScalarClass, ignoresCase: Bool)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// A repetition; `max` is `nil` if there is no maximum.
    case repeated(PatternNode, min: Int, max: Int?, Preference)
    /// A group that back-references refer to.
    case capture(PatternNode, number: Int)
    case assertion(Assertion)
    /// A pattern that must match, or must not match, after or before the position.
    case look(PatternNode, isAhead: Bool, isNegative: Bool)
    /// A group that is not reentered after it has matched.
    case atomic(PatternNode)
    case backReference(Int, ignoresCase: Bool)
}
