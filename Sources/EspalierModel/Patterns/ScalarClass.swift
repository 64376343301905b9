// Sets of Unicode scalars, as the brackets, escapes and properties of a MATCHES pattern name them.
//
// Invariants
//   1. A test never fails; the depth of a set is bounded by the nesting that the pattern's parser allows.
//   2. Case is ignored at the leaves, so that a complement excludes all case variants of the scalars in its set.

import Synchronization

/// A set of Unicode scalars.
indirect enum ScalarClass: Sendable {
    case all
    case range(ClosedRange<UInt32>)
    /// Letters, marks, digits and joining punctuation: `\w`.
    case word
    /// Decimal digits of every script: `\d`.
    case digit
    /// White space: `\s`.
    case space
    /// Tabs and spaces of every width: `\h`.
    case horizontalSpace
    /// The scalars that end a line: `\v`.
    case lineEnd
    case property(ScalarProperty)
    case union([ScalarClass])
    case intersection(ScalarClass, ScalarClass)
    case difference(ScalarClass, ScalarClass)
    case complement(ScalarClass)

    static func scalar(_ scalar: Unicode.Scalar) -> ScalarClass { .range(scalar.value...scalar.value) }

    /// Whether the set contains the scalar, or one that differs from it only in case.
    func contains(_ scalar: Unicode.Scalar, ignoresCase: Bool) -> Bool {
        switch self {
        case .all: true
        case .range(let range):
            range.contains(scalar.value)
                || ignoresCase && scalar.caseVariants.contains { range.contains($0.value) }
        case .word: scalar.isWord
        case .digit: scalar.properties.generalCategory == .decimalNumber
        case .space: scalar.properties.isWhitespace
        case .horizontalSpace: scalar == "\t" || scalar.properties.generalCategory == .spaceSeparator
        case .lineEnd: scalar.endsLine
        case .property(let property):
            property.contains(scalar) || ignoresCase && scalar.caseVariants.contains { property.contains($0) }
        case .union(let parts): parts.contains { $0.contains(scalar, ignoresCase: ignoresCase) }
        case .intersection(let left, let right):
            left.contains(scalar, ignoresCase: ignoresCase) && right.contains(scalar, ignoresCase: ignoresCase)
        case .difference(let left, let right):
            left.contains(scalar, ignoresCase: ignoresCase) && !right.contains(scalar, ignoresCase: ignoresCase)
        case .complement(let inner): !inner.contains(scalar, ignoresCase: ignoresCase)
        }
    }
}

/// A Unicode property by its name, `\p{…}`: those that the standard library's regular expressions support.
final class ScalarProperty: Sendable {
    private struct State {
        let expression: Regex<AnyRegexOutput>
        /// The cached answers.
        var known: [Unicode.Scalar: Bool] = [:]
    }

    /// The most answers cached; further answers are computed on each call.
    private static let knownCountMax = 10_000
    /// Guards the expression, which is not Sendable, and the cached answers.
    private let state: Mutex<State>

    /// The property called `name`; `nil` if it does not exist.
    init?(_ name: String) {
        guard let expression = try? Regex("\\p{\(name)}").matchingSemantics(.unicodeScalar) else { return nil }
        state = Mutex(State(expression: expression))
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        state.withLock { state in
            if let answer = state.known[scalar] { return answer }
            // The text is one scalar, so the match is quick.
            let answer = ((try? state.expression.wholeMatch(in: String(scalar))) ?? nil) != nil
            if state.known.count < Self.knownCountMax { state.known[scalar] = answer }
            return answer
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is part of a word.
    var isWord: Bool {
        if isASCII { return ("a"..."z").contains(self) || ("A"..."Z").contains(self) || isDigit || self == "_" }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: return true
        default: return properties.isAlphabetic || value == 0x200C || value == 0x200D
        }
    }

    /// Whether the scalar is an ASCII digit.
    var isDigit: Bool { ("0"..."9").contains(self) }

    /// Whether the scalar ends a line.
    var endsLine: Bool {
        (0x0A...0x0D).contains(value) || value == 0x85 || value == 0x2028 || value == 0x2029
    }

    /// The scalar that represents all scalars that differ only in case.
    ///
    /// A mapping to several scalars, as for ß, is ignored: a pattern matches scalar by scalar.
    var foldedCase: Unicode.Scalar {
        if isASCII { return ("A"..."Z").contains(self) ? Unicode.Scalar(UInt8(value) + 32) : self }
        if value == 0x131 { return self }
        let lower = properties.lowercaseMapping.onlyScalar ?? self
        let upper = lower.properties.uppercaseMapping.onlyScalar ?? lower
        return upper.properties.lowercaseMapping.onlyScalar ?? upper
    }

    /// The scalars that differ from this one only in case.
    fileprivate var caseVariants: [Unicode.Scalar] {
        let folded = foldedCase
        let upper = folded.properties.uppercaseMapping.onlyScalar ?? folded
        return [folded, upper]
    }
}

extension String {
    fileprivate var onlyScalar: Unicode.Scalar? {
        unicodeScalars.count == 1 ? unicodeScalars.first : nil
    }
}
