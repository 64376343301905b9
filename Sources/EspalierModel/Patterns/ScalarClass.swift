// Sets of Unicode scalars, as the brackets, escapes and properties of a MATCHES pattern name them.
//
// Invariants
//   1. Asking never fails; the depth of a set is bounded by the nesting that the pattern's parser allows.
//   2. Case is ignored at the leaves, so that the complement of a set is the complement of what it holds in any case.

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
    /// What ends a line: `\v`.
    case lineEnd
    case property(ScalarProperty)
    case union([ScalarClass])
    case intersection(ScalarClass, ScalarClass)
    case difference(ScalarClass, ScalarClass)
    case complement(ScalarClass)

    static func scalar(_ scalar: Unicode.Scalar) -> ScalarClass { .range(scalar.value...scalar.value) }

    /// Whether the set holds the scalar, or one that differs from it in case only.
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

/// A Unicode property by its name, `\p{…}`: what the standard library's expressions know.
final class ScalarProperty: Sendable {
    private struct State {
        let expression: Regex<AnyRegexOutput>
        /// What was asked before.
        var known: [Unicode.Scalar: Bool] = [:]
    }

    /// How many answers are kept; beyond, they are found again.
    private static let knownCountMax = 10_000
    /// Guards the expression, which is not Sendable, and the answers.
    private let state: Mutex<State>

    /// The property called `name`; `nil` if there is none.
    init?(_ name: String) {
        guard let expression = try? Regex("\\p{\(name)}").matchingSemantics(.unicodeScalar) else { return nil }
        state = Mutex(State(expression: expression))
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        state.withLock { state in
            if let answer = state.known[scalar] { return answer }
            // One scalar and one test: nothing that could take time.
            let answer = ((try? state.expression.wholeMatch(in: String(scalar))) ?? nil) != nil
            if state.known.count < Self.knownCountMax { state.known[scalar] = answer }
            return answer
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar belongs to a word.
    var isWord: Bool {
        if isASCII { return ("a"..."z").contains(self) || ("A"..."Z").contains(self) || isDigit || self == "_" }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: return true
        default: return properties.isAlphabetic || value == 0x200C || value == 0x200D
        }
    }

    /// Whether the scalar is one of 0 to 9.
    var isDigit: Bool { ("0"..."9").contains(self) }

    /// Whether a line ends with the scalar.
    var endsLine: Bool {
        (0x0A...0x0D).contains(value) || value == 0x85 || value == 0x2028 || value == 0x2029
    }

    /// The scalar that stands for all that differ from it in case only.
    ///
    /// Where a mapping gives several scalars, as for ß, it is left out: a pattern matches scalar by scalar.
    var foldedCase: Unicode.Scalar {
        if isASCII { return ("A"..."Z").contains(self) ? Unicode.Scalar(UInt8(value) + 32) : self }
        if value == 0x131 { return self }
        let lower = properties.lowercaseMapping.onlyScalar ?? self
        let upper = lower.properties.uppercaseMapping.onlyScalar ?? lower
        return upper.properties.lowercaseMapping.onlyScalar ?? upper
    }

    /// Scalars that differ from this one in case only.
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
