// What a MATCHES pattern says, as a tree.

/// A piece of a pattern.
indirect enum PatternNode: Sendable {
    /// Where something has to stand, without taking any text.
    enum Assertion: Sendable {
        case textStart
        case textEnd
        /// The end, or a line end that is the last thing in the text: `\Z`.
        case lastLineEnd
        case lineStart
        case lineEnd
        case wordEdge
        case noWordEdge
    }

    /// Which of several ways is tried first; without back-references and atomic groups it makes no difference.
    enum Preference: Sendable {
        case greedy
        case lazy
        /// What was taken is not given back.
        case possessive
    }

    /// One scalar of a set.
    case scalars(ScalarClass, ignoresCase: Bool)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// `max` is `nil` if there is none.
    case repeated(PatternNode, min: Int, max: Int?, Preference)
    /// A group that back-references name.
    case capture(PatternNode, number: Int)
    case assertion(Assertion)
    /// What has to follow, or precede, or must not.
    case look(PatternNode, isAhead: Bool, isNegative: Bool)
    /// A group that is not entered again.
    case atomic(PatternNode)
    case backReference(Int, ignoresCase: Bool)
}
