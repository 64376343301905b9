// The rules of properties in compiled models, which keep each rule as an archived predicate on the value.
//
// Invariants
//   1. A predicate becomes a word of model files only if the word says the same; otherwise it is kept as text.
//   2. Work is constant for each predicate: parts of expressions are not followed, and bytes that many predicates name
//      are not copied.
//
// A rule is a comparison (NSComparisonPredicate) of the value itself, of its `length` or of its
// `timeIntervalSinceReferenceDate` on the left with a constant on the right. The operator is an object with the
// number of its kind; whether it is negated, has a modifier (ANY, ALL) or options are fields of it.
//
// The limits of a relationship are fields of its own, NSMinCount and NSMaxCount, and no model among the test data has
// predicates beside them. Every property can have some, though: those that repeat the limits say nothing more.

import EspalierModel
import FoundationEssentials

enum CompiledRule {
    /// The word of model files that says the same, and its text.
    case word(ModelRuleWord, String)
    /// A predicate on a relationship whose limits say the same, or more.
    case implied
    /// A predicate that no word says.
    case unread(String)

    /// Reads an archived predicate on an attribute of a type.
    init(_ field: KeyedArchive.Value, of type: AttributeType, in archive: KeyedArchive) {
        guard let predicate = archive.object(field) else {
            self = .unread("?")
            return
        }
        guard let comparison = ArchivedComparison(predicate, archive) else {
            self = .unread(predicate.className)
            return
        }
        if let (word, text) = comparison.word(of: type) {
            self = .word(word, text)
        } else {
            self = .unread(comparison.text)
        }
    }

    /// Reads an archived predicate on a relationship with these fields.
    init(_ field: KeyedArchive.Value, ofRelationship fields: [String: KeyedArchive.Value], in archive: KeyedArchive) {
        guard let predicate = archive.object(field) else {
            self = .unread("?")
            return
        }
        guard let comparison = ArchivedComparison(predicate, archive) else {
            self = .unread(predicate.className)
            return
        }
        self = comparison.isImplied(byLimitsOf: fields) ? .implied : .unread(comparison.text)
    }
}

/// A comparison of an archive.
private struct ArchivedComparison {
    /// One side of a comparison.
    private enum Side {
        /// The value that is checked.
        case itself
        /// A property of the value.
        case keyPath(String)
        case constant(AttributeValue)
        /// An expression of another class.
        case other(String)

        var text: String {
            switch self {
            case .itself: "SELF"
            case .keyPath(let path): path.shortened
            case .constant(.string(let text)): "\"\(text.shortened)\""
            case .constant(let value): value.modelFileText ?? (value.isNull ? "nil" : value.kindDescription)
            case .other(let name): name.shortened
            }
        }
    }

    private static let (atMost, atLeast, differs, matches): (Int64, Int64, Int64, Int64) = (1, 3, 5, 6)
    /// The kinds of operators, by number.
    private static let symbols: [Int64: String] = [
        0: "<", 1: "<=", 2: ">", 3: ">=", 4: "==", 5: "!=", 6: "MATCHES", 7: "LIKE", 8: "BEGINSWITH", 9: "ENDSWITH",
        10: "IN", 99: "CONTAINS", 100: "BETWEEN",
    ]

    private let left: Side
    private let right: Side
    private let kind: Int64
    /// Whether the operator is neither negated nor has a modifier or options.
    private let isPlain: Bool

    init?(_ predicate: KeyedArchive.Object, _ archive: KeyedArchive) {
        guard predicate.className == "NSComparisonPredicate",
            let operation = archive.object(predicate.fields["NSPredicateOperator"]),
            case .integer(let kind)? = operation.fields["NSOperatorType"]
        else { return nil }
        left = Self.side(predicate.fields["NSLeftExpression"], archive)
        right = Self.side(predicate.fields["NSRightExpression"], archive)
        self.kind = kind
        // Comparisons of texts have their options under another name.
        isPlain = ["NSNegate", "NSModifier", "NSOptions", "NSFlags"].allSatisfy { name in
            switch operation.fields[name] {
            case nil, .boolean(false), .integer(0): true
            default: false
            }
        }
    }

    private static func side(_ field: KeyedArchive.Value?, _ archive: KeyedArchive) -> Side {
        guard let object = archive.object(field) else { return .other("?") }
        switch object.className {
        case "NSSelfExpression": return .itself
        case "NSConstantValueExpression" where object.fields["NSConstantValueClassName"] == nil:
            let field = object.fields["NSConstantValue"]
            if case .reference(let number)? = field, case .data(let bytes) = archive.value(number) {
                return .other("the bytes of length \(bytes.count)")
            }
            let value = archive.constant(field)
            return value.map(Side.constant) ?? .other(object.className)
        case "NSKeyPathExpression":
            guard archive.object(object.fields["NSOperand"])?.className == "NSSelfExpression",
                let path = archive.object(archive.items(object.fields["NSArguments"]).first),
                let name = archive.text(path.fields["NSKeyPath"] ?? path.fields["NSConstantValue"])
            else { return .other(object.className) }
            return .keyPath(name)
        default: return .other(object.className)
        }
    }

    /// The comparison in the notation of predicates, as far as it was read.
    var text: String {
        let symbol = Self.symbols[kind] ?? "operator \(kind)"
        return "\(left.text) \(symbol)\(isPlain ? "" : "[…]") \(right.text)"
    }

    /// Whether the limits of a relationship say the same, or more.
    func isImplied(byLimitsOf relationship: [String: KeyedArchive.Value]) -> Bool {
        guard isPlain, case .constant(let limit) = right else { return false }
        func number(_ field: String) -> Int64 {
            if case .integer(let count)? = relationship[field] { count } else { 0 }
        }
        let isRequired = relationship["NSIsOptional"] != .boolean(true)
        // An optional relationship may be empty, whatever its minimum is.
        let (least, greatest) = (isRequired ? max(number("NSMinCount"), 1) : 0, number("NSMaxCount"))
        switch (left, limit) {
        case (.itself, .null): return kind == Self.differs && isRequired
        case (.keyPath("count"), .integer(let count)), (.keyPath("@count"), .integer(let count)):
            if kind == Self.atLeast { return count <= least }
            return kind == Self.atMost && greatest > 0 && count >= greatest
        default: return false
        }
    }

    /// The word of model files that says the same about a value of a type, and its text; `nil` if there is none.
    func word(of type: AttributeType) -> (ModelRuleWord, String)? {
        guard isPlain, case .constant(let limit) = right else { return nil }
        if kind == Self.matches, case .itself = left, type == .string, case .string(let pattern) = limit,
            !pattern.isEmpty
        {
            return (.regularExpressionString, pattern)
        }
        guard kind == Self.atLeast || kind == Self.atMost else { return nil }
        let isMinimum = kind == Self.atLeast
        switch (left, type, limit) {
        case (.itself, let type, .integer(let number)) where type.isNumeric:
            return (isMinimum ? .minValueString : .maxValueString, "\(number)")
        case (.itself, let type, .double(let number)) where type.isNumeric && number.isFinite:
            return (isMinimum ? .minValueString : .maxValueString, "\(number)")
        case (.itself, .decimal, .decimal):
            return limit.modelFileText.map { (isMinimum ? .minValueString : .maxValueString, $0) }
        case (.keyPath("length"), .string, .integer(let count)):
            return (isMinimum ? .minValueString : .maxValueString, "\(count)")
        case (.itself, .date, .date(let date)) where date.timeIntervalSinceReferenceDate.isFinite:
            return (isMinimum ? .minDateTimeInterval : .maxDateTimeInterval, "\(date.timeIntervalSinceReferenceDate)")
        case (.keyPath("timeIntervalSinceReferenceDate"), .date, .double(let seconds)) where seconds.isFinite:
            return (isMinimum ? .minDateTimeInterval : .maxDateTimeInterval, "\(seconds)")
        case (.keyPath("timeIntervalSinceReferenceDate"), .date, .integer(let seconds)):
            return (isMinimum ? .minDateTimeInterval : .maxDateTimeInterval, "\(seconds)")
        default: return nil
        }
    }
}
