// Values as the naive evaluator of requests sees them: an order and operators of its own, and texts that were folded by
// hand. Nothing here calls the comparisons of the library.
//
// The rules (Behaviour PR-12): null precedes all values and equals itself; NaN follows all numbers and equals itself;
// orders, BETWEEN and text operators are false for null, and orders also for NaN.

import EspalierModel
import Foundation

/// A value of a row, a constant or a result.
///
/// All values of one property are of one kind, or null.
enum PlainValue {
    case null
    /// A number of any type: all numbers of the domain are doubles.
    case number(Double)
    case flag(Bool)
    /// The position of a text in `PlainText.all`.
    case text(Int)
    /// The seconds since the beginning of 2001.
    case day(Double)
    /// Bytes, those of a UUID, and the ASCII text of a URI.
    case bytes([UInt8])
    /// The position of a row in its world; later rows were created later.
    case row(Int)

    var isNull: Bool { if case .null = self { true } else { false } }
    var isNaN: Bool { if case .number(let number) = self { number.isNaN } else { false } }

    /// The order of this value and another one: negative, zero or positive.
    func order(_ other: PlainValue, _ fold: PlainFold = .plain) -> Int {
        switch (self, other) {
        case (.null, .null): 0
        case (.null, _): -1
        case (_, .null): 1
        case (.number(let left), .number(let right)), (.day(let left), .day(let right)): Self.compared(left, right)
        case (.text(let left), .text(let right)): Self.compared(fold.ranks[left], fold.ranks[right])
        case (.flag(let left), .flag(let right)): Self.compared(left ? 1 : 0, right ? 1 : 0)
        case (.row(let left), .row(let right)): Self.compared(left, right)
        case (.bytes(let left), .bytes(let right)):
            left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        default: preconditionFailure("\(self) and \(other) are of two kinds")
        }
    }

    private static func compared(_ left: Int, _ right: Int) -> Int { left == right ? 0 : left < right ? -1 : 1 }

    private static func compared(_ left: Double, _ right: Double) -> Int {
        if left == right { return 0 }
        if left.isNaN || right.isNaN { return compared(left.isNaN ? 1 : 0, right.isNaN ? 1 : 0) }
        return left < right ? -1 : 1
    }

    /// Whether a comparison with another value holds.
    func satisfies(
        _ operation: FetchPredicate.Comparison.Operator, _ other: PlainValue, _ fold: PlainFold = .plain
    ) -> Bool {
        let order = self.order(other, fold)
        switch operation {
        case .equal: return order == 0
        case .notEqual: return order != 0
        default: break
        }
        guard !isNull, !other.isNull, !isNaN, !other.isNaN else { return false }
        return switch operation {
        case .lessThan: order < 0
        case .lessThanOrEqual: order <= 0
        case .greaterThan: order > 0
        case .greaterThanOrEqual: order >= 0
        default: preconditionFailure("\(operation) is no order")
        }
    }

    /// Whether a result is this value; numbers that were divided may differ in their last digits.
    func isSame(as other: PlainValue) -> Bool {
        if case (.number(let left), .number(let right)) = (self, other), left.isFinite, right.isFinite {
            return abs(left - right) <= 1e-9 * max(1, abs(left))
        }
        return order(other) == 0
    }
}

extension PlainValue {
    /// The value as an attribute of a type has it; decimals end with zeros.
    func stored(as type: AttributeType) -> AttributeValue {
        switch (self, type) {
        case (.null, _): .null
        case (.flag(let flag), _): .boolean(flag)
        case (.text(let text), _): .string(PlainText.all[text].text)
        case (.day(let seconds), _): .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (.number(let number), .double): .double(number)
        case (.number(let number), .float): .float(Float(number))
        case (.number(let number), .decimal):
            .decimal(Decimal(sign: number < 0 ? .minus : .plus, exponent: -2, significand: Decimal(abs(number) * 100)))
        case (.number(let number), _): .integer(Int64(number))
        case (.bytes(let bytes), .uuid): .uuid(PlainBytes.uuid(bytes))
        case (.bytes(let bytes), .uri):
            .uri(URL(string: String(decoding: bytes, as: UTF8.self)) ?? URL(fileURLWithPath: "/"))
        case (.bytes(let bytes), .transformable): .transformable(Data(bytes))
        case (.bytes(let bytes), _): .binary(Data(bytes))
        case (.row(let row), _): preconditionFailure("row \(row) is no value of type \(type)")
        }
    }
}

/// The bytes that rows have.
enum PlainBytes {
    /// The values of attributes of a type.
    static func all(of type: AttributeType) -> [[UInt8]] {
        switch type {
        case .uuid: [0, 1, 255].map { [$0] + Array(repeating: 7, count: 14) + [$0] }
        case .uri: ["https://a.example/1", "https://a.example/10", "https://b.example/"].map { Array($0.utf8) }
        default: [[], [0], [0, 0], [0, 255], [1], [255]]
        }
    }

    static func of(_ uuid: UUID) -> [UInt8] {
        let bytes = uuid.uuid
        return [
            bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7, bytes.8, bytes.9, bytes.10,
            bytes.11, bytes.12, bytes.13, bytes.14, bytes.15,
        ]
    }

    /// The UUID with 16 bytes.
    static func uuid(_ bytes: [UInt8]) -> UUID {
        precondition(bytes.count == 16, "a UUID of \(bytes.count) bytes")
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
                bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }
}

/// The differences between texts that a comparison ignores.
enum PlainFold: Int, CaseIterable {
    case plain, caseless, markless, both

    var options: ComparisonOptions {
        switch self {
        case .plain: []
        case .caseless: .caseInsensitive
        case .markless: .diacriticInsensitive
        case .both: [.caseInsensitive, .diacriticInsensitive]
        }
    }

    /// The order of the texts of the domain; equal ones have one rank.
    var ranks: [Int] { PlainText.ranks[rawValue] }
}

/// A text with its forms without case, without accents and without both, each in canonical composition.
struct PlainText {
    let text: String
    /// By the number of a `PlainFold`.
    let folded: [String]

    private init(_ text: String, _ plain: String, _ caseless: String, _ markless: String, _ both: String) {
        (self.text, folded) = (text, [plain, caseless, markless, both])
    }

    /// A text without case, accents and signs of several scalars.
    private init(_ text: String) { self.init(text, text, text, text, text) }

    /// The position of the text that this one is in a form.
    func position(of fold: PlainFold) -> Int { Self.positions[folded[fold.rawValue]] ?? 0 }

    private static let long = String(repeating: "x", count: 600)

    /// The texts that rows have.
    static let all = [
        PlainText(""), PlainText("ann"), PlainText("Ann", "Ann", "ann", "Ann", "ann"),
        PlainText("\u{C4}nn", "\u{C4}nn", "\u{E4}nn", "Ann", "ann"),
        PlainText("A\u{308}nn", "\u{C4}nn", "\u{E4}nn", "Ann", "ann"), PlainText("anna"), PlainText("bo"),
        PlainText("BO\u{301}", "B\u{D3}", "b\u{F3}", "BO", "bo"),
        PlainText("a\u{DF}", "a\u{DF}", "ass", "a\u{DF}", "ass"), PlainText("ASS", "ASS", "ass", "ASS", "ass"),
        PlainText("日本"), PlainText("a\u{0}"), PlainText("😀"),
        // An index cuts these two after the same bytes.
        PlainText(long + "a"), PlainText(long + "b"),
        // "aß" and "ASS" without case.
        PlainText("ass"),
    ]

    /// The texts that conditions look for within others.
    static let operands = [
        PlainText(""), PlainText("an"), PlainText("nn"), PlainText("An", "An", "an", "An", "an"),
        PlainText("\u{E4}", "\u{E4}", "\u{E4}", "a", "a"), PlainText("O\u{301}", "\u{D3}", "\u{F3}", "O", "o"),
        PlainText("ss"), PlainText("\u{DF}", "\u{DF}", "ss", "\u{DF}", "ss"), PlainText("日"), PlainText("xa"),
        PlainText("zz"),
    ]

    static let ranks = PlainFold.allCases.map { fold in
        let forms = all.map { Array($0.folded[fold.rawValue].utf8) }
        let sorted = forms.sorted { $0.lexicographicallyPrecedes($1) }
        return forms.map { form in sorted.firstIndex(of: form) ?? 0 }
    }

    /// The first position of each text, also for texts in another normalization.
    static let positions = Dictionary(all.enumerated().map { ($1.text, $0) }) { first, _ in first }

    /// By fold and position: whether the text begins with each operand, ends with it, and contains it.
    private static let begins = table(operands) { whole, operand, fold in
        whole.starts(with: operand.folded[fold.rawValue].unicodeScalars)
    }
    private static let ends = table(operands) { whole, operand, fold in
        let part = Array(operand.folded[fold.rawValue].unicodeScalars)
        return whole.count >= part.count && whole.suffix(part.count).elementsEqual(part)
    }
    private static let contains = table(operands) { whole, operand, fold in
        let part = Array(operand.folded[fold.rawValue].unicodeScalars)
        return (0...whole.count).contains { whole[$0...].starts(with: part) }
    }
    /// By fold and position: whether the text matches each pattern.
    private static let likes = table(PlainPattern.all) { whole, pattern, fold in pattern.matches(whole, fold) }

    private static func table<Right>(
        _ rights: [Right], _ holds: ([Unicode.Scalar], Right, PlainFold) -> Bool
    ) -> [[[Bool]]] {
        PlainFold.allCases.map { fold in
            all.map { text in
                let scalars = Array(text.folded[fold.rawValue].unicodeScalars)
                return rights.map { holds(scalars, $0, fold) }
            }
        }
    }

    /// Whether a text of the domain contains an operand, begins or ends with it.
    static func holds(
        _ operation: FetchPredicate.Comparison.Operator, _ text: Int, _ operand: Int, _ fold: PlainFold
    ) -> Bool {
        switch operation {
        case .beginsWith: begins[fold.rawValue][text][operand]
        case .endsWith: ends[fold.rawValue][text][operand]
        default: contains[fold.rawValue][text][operand]
        }
    }

    /// Whether a text of the domain matches a pattern of LIKE, by its position.
    static func isLike(_ text: Int, _ pattern: Int, _ fold: PlainFold) -> Bool {
        likes[fold.rawValue][text][pattern]
    }
}

/// A pattern of LIKE.
struct PlainPattern {
    enum Piece {
        case one, any
        /// The position of a text in `PlainText.operands`.
        case literal(Int)
    }

    let pieces: [Piece]

    /// The pattern as text.
    var text: String {
        pieces.map { piece in
            switch piece {
            case .one: "?"
            case .any: "*"
            case .literal(let operand): PlainText.operands[operand].text
            }
        }.joined()
    }

    /// Whether a folded text matches as a whole.
    fileprivate func matches(_ text: [Unicode.Scalar], _ fold: PlainFold) -> Bool {
        // The positions up to which the pieces so far can match.
        var ends = Set([0])
        for piece in pieces {
            switch piece {
            case .one: ends = Set(ends.filter { $0 < text.count }.map { $0 + 1 })
            case .any: ends = Set((ends.min() ?? text.count + 1)..<text.count + 1)
            case .literal(let operand):
                let part = Array(PlainText.operands[operand].folded[fold.rawValue].unicodeScalars)
                ends = Set(ends.filter { text[$0...].starts(with: part) }.map { $0 + part.count })
            }
        }
        return ends.contains(text.count)
    }

    private static let lists: [[Piece]] = [
        [], [.any], [.one, .any], [.literal(1), .any], [.any, .literal(2)], [.any, .literal(5)],
        [.any, .literal(4), .any], [.one, .literal(2)], [.literal(3), .one, .any], [.any, .literal(6)],
        [.one, .one, .one], [.any, .literal(9)],
    ]
    /// The patterns of conditions.
    static let all = lists.map { PlainPattern(pieces: $0) }
}
