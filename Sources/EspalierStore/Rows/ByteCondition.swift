// Conditions on the attributes and to-one relationships of a row itself, tested on the bytes of the row in place,
// without decoding values.
//
// Invariants
//   1. A test gives the result of `ResolvedPredicate.evaluate`, or `unknown`; then the predicate is evaluated.
//   2. Bytes of text are compared only if they are those of the folded text: without [c] and [d] if no character in it
//      can be composed, with them if it is ASCII.
// One range tests numbers of all widths, dates and booleans. `make` returns `nil` for types and operators without a
// test.

internal import EspalierModel
internal import FoundationEssentials

/// A condition that needs only the row.
final class ByteCondition {
    /// The result of a test on a row.
    enum Verdict {
        case passes, fails, unknown
    }

    /// The kind of comparison.
    enum Kind {
        /// Only whether there is a value.
        case null
        /// A whole number or boolean with a range.
        case integer
        /// A whole number with a list, ascending.
        case integers
        /// A number or date with a range.
        case number
        /// Text with a range, each end included or not.
        case text
        /// Text with a list, ascending.
        case texts
        /// Text with a pattern.
        case pattern
        /// The destination of a to-one relationship with a set of IDs.
        case destination
        /// Other tests.
        case all, any, not
    }

    let kind: Kind
    /// The slot of the attribute or relationship.
    private(set) var slot = 0
    /// Whether a row without a value passes.
    private(set) var passesNull = false
    /// Whether values outside of the range or list pass, instead of those within.
    private(set) var isNegated = false
    private(set) var integers: ClosedRange<Int64> = 0...0
    private(set) var integerList: [Int64] = []
    private(set) var numbers: ClosedRange<Double> = 0...0
    /// The ends of a range of text, or the members of a list.
    private(set) var texts: [[UInt8]] = []
    private(set) var ends: (lower: End, upper: End) = (.open, .open)
    private(set) var pattern: TextPattern?
    private(set) var destinations: Set<ObjectID> = []
    private(set) var ignoresCase = false
    private(set) var needsASCII = false
    private(set) var children: [ByteCondition] = []

    /// Whether a range of text has an end, and whether the end is included.
    enum End {
        case open, included, excluded
    }

    private init(_ kind: Kind) { self.kind = kind }

    /// The slots of the attributes whose values the test reads.
    var slots: [Int] {
        switch kind {
        case .all, .any, .not: children.flatMap(\.slots)
        case .null, .destination: []
        case .integer, .integers, .number, .text, .texts, .pattern: [slot]
        }
    }

    /// The test for `node`; `nil` if it has to be evaluated.
    static func make(_ node: ResolvedPredicate.Node) -> ByteCondition? {
        switch node {
        case .constant: return nil
        case .and(let nodes): return combined(.all, nodes)
        case .or(let nodes): return combined(.any, nodes)
        case .not(let node): return combined(.not, [node])
        case .comparison(let comparison): return make(comparison)
        }
    }

    private static func combined(_ kind: Kind, _ nodes: [ResolvedPredicate.Node]) -> ByteCondition? {
        assert(kind == .all || kind == .any || kind == .not, "\(kind) combines no tests")
        assert(kind != .not || nodes.count == 1, "\(nodes.count) conditions are negated")
        let test = ByteCondition(kind)
        for node in nodes {
            guard let child = make(node) else { return nil }
            test.children.append(child)
        }
        return test
    }

    private static func make(_ comparison: ResolvedComparison) -> ByteCondition? {
        guard comparison.modifier == .direct, case .path(let path) = comparison.left, path.base == .evaluatedObject
        else { return nil }
        if path.steps.count == 1, !path.steps[0].isToMany, path.terminal == .object {
            return ofDestination(comparison, path.steps[0].slot)
        }
        guard path.steps.isEmpty, case .attribute(let slot, let type, elements: []) = path.terminal
        else { return nil }
        let test: ByteCondition?
        switch (comparison.right, comparison.operator) {
        case (.value(.null), .equal): test = ofNull(passes: true)
        case (.value(.null), .notEqual): test = ofNull(passes: false)
        default:
            switch type {
            case .integer16, .integer32, .integer64, .boolean: test = ofIntegers(comparison)
            case .double, .date: test = ofNumbers(comparison)
            case .string: test = ofText(comparison)
            default: test = nil
            }
        }
        test?.slot = slot
        return test
    }

    private static func ofNull(passes: Bool) -> ByteCondition {
        let test = ByteCondition(.null)
        (test.passesNull, test.isNegated) = (passes, passes)
        return test
    }

    private static func ofDestination(_ comparison: ResolvedComparison, _ slot: Int) -> ByteCondition? {
        let values: [AttributeValue]
        switch (comparison.right, comparison.operator) {
        case (.value(let value), .equal), (.value(let value), .notEqual): values = [value]
        case (.values(let list), .in): values = list
        default: return nil
        }
        let test = ByteCondition(.destination)
        (test.slot, test.isNegated) = (slot, comparison.operator == .notEqual)
        test.passesNull = test.isNegated != values.contains(where: \.isNull)
        for value in values where !value.isNull {
            guard case .objectID(let id) = value else { return nil }
            test.destinations.insert(id)
        }
        return test
    }

    // MARK: Whole numbers

    private static func ofIntegers(_ comparison: ResolvedComparison) -> ByteCondition? {
        func integer(_ value: AttributeValue) -> Int64? {
            switch value {
            case .integer(let number): number
            case .boolean(let truth): truth ? 1 : 0
            default: nil
            }
        }
        if case .values(let values) = comparison.right {
            let numbers = values.compactMap(integer)
            if comparison.operator == .between, numbers.count == 2, values.count == 2 {
                return numbers[0] <= numbers[1] ? ofIntegers(numbers[0]...numbers[1]) : nil
            }
            guard comparison.operator == .in, numbers.count == values.count - (values.first?.isNull == true ? 1 : 0)
            else { return nil }
            assert(zip(numbers, numbers.dropFirst()).allSatisfy { $0 <= $1 }, "a list of numbers does not ascend")
            let test = ByteCondition(.integers)
            (test.integerList, test.passesNull) = (numbers, numbers.count < values.count)
            return test
        }
        guard case .value(let value) = comparison.right, let number = integer(value) else { return nil }
        switch comparison.operator {
        case .equal: return ofIntegers(number...number)
        case .notEqual:
            let test = ofIntegers(number...number)
            (test.isNegated, test.passesNull) = (true, true)
            return test
        case .lessThan: return number > .min ? ofIntegers(.min...number - 1) : nil
        case .lessThanOrEqual: return ofIntegers(.min...number)
        case .greaterThan: return number < .max ? ofIntegers(number + 1 ... .max) : nil
        case .greaterThanOrEqual: return ofIntegers(number ... .max)
        default: return nil
        }
    }

    private static func ofIntegers(_ range: ClosedRange<Int64>) -> ByteCondition {
        let test = ByteCondition(.integer)
        test.integers = range
        return test
    }

    // MARK: Numbers

    private static func ofNumbers(_ comparison: ResolvedComparison) -> ByteCondition? {
        func number(_ value: AttributeValue) -> Double? {
            switch value {
            case .double(let number): number.isFinite ? number : nil
            case .date(let date):
                date.timeIntervalSinceReferenceDate.isFinite ? date.timeIntervalSinceReferenceDate : nil
            default: nil
            }
        }
        if case .values(let values) = comparison.right {
            guard comparison.operator == .between, values.count == 2, let lower = number(values[0]),
                let upper = number(values[1]), lower <= upper
            else { return nil }
            return ofNumbers(lower...upper)
        }
        guard case .value(let value) = comparison.right, let number = number(value) else { return nil }
        let infinity = Double.infinity
        switch comparison.operator {
        case .equal: return ofNumbers(number...number)
        case .notEqual:
            let test = ofNumbers(number...number)
            (test.isNegated, test.passesNull) = (true, true)
            return test
        case .lessThan: return ofNumbers(-infinity...number.nextDown)
        case .lessThanOrEqual: return ofNumbers(-infinity...number)
        case .greaterThan: return ofNumbers(number.nextUp...infinity)
        case .greaterThanOrEqual: return ofNumbers(number...infinity)
        default: return nil
        }
    }

    private static func ofNumbers(_ range: ClosedRange<Double>) -> ByteCondition {
        let test = ByteCondition(.number)
        test.numbers = range
        return test
    }

    // MARK: Text

    private static func ofText(_ comparison: ResolvedComparison) -> ByteCondition? {
        let options = comparison.options
        guard !options.contains(.normalized) else { return nil }
        let isFolded = !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
        func bytes(_ value: AttributeValue) -> [UInt8]? {
            guard case .string(let text) = value else { return nil }
            return Array(TextFolding.folded(text, options).utf8)
        }
        let test: ByteCondition
        if let pattern = comparison.textPattern {
            test = ByteCondition(.pattern)
            test.pattern = pattern
        } else if case .values(let values) = comparison.right {
            let texts = values.compactMap(bytes)
            guard comparison.operator == .in, texts.count == values.count - (values.first?.isNull == true ? 1 : 0)
            else { return nil }
            assert(zip(texts, texts.dropFirst()).allSatisfy { !$1.precedes($0) }, "a list of texts does not ascend")
            test = ByteCondition(.texts)
            (test.texts, test.passesNull) = (texts, texts.count < values.count)
        } else if case .value(let value) = comparison.right, let text = bytes(value) {
            test = ByteCondition(.text)
            test.texts = [text]
            switch comparison.operator {
            case .equal: test.ends = (.included, .included)
            case .notEqual:
                test.ends = (.included, .included)
                (test.isNegated, test.passesNull) = (true, true)
            case .lessThan: test.ends = (.open, .excluded)
            case .lessThanOrEqual: test.ends = (.open, .included)
            case .greaterThan: test.ends = (.excluded, .open)
            case .greaterThanOrEqual: test.ends = (.included, .open)
            default: return nil
            }
        } else {
            return nil
        }
        (test.needsASCII, test.ignoresCase) = (isFolded, options.contains(.caseInsensitive))
        return test
    }
}
