// Numbers as arithmetic computes them: whole, binary, or none. A plain number is a trivial value: computing with it
// counts no references and allocates nothing.
//
// Not here: decimals, which are computed as such (ResolvedFunction); the operations (ResolvedFunction+Numbers).

/// A whole number, a binary fraction, or none.
package enum PlainNumber: Sendable, Equatable {
    case null
    case integer(Int64)
    case double(Double)

    /// The number of an attribute's value, or none for null; `nil` for a decimal and for a value that is no number.
    package init?(_ value: AttributeValue) {
        switch value {
        case .null: self = .null
        case .integer(let number): self = .integer(number)
        case .double(let number): self = .double(number)
        case .float(let number): self = .double(Double(number))
        case .decimal, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite:
            return nil
        }
    }

    /// The number as the value of a function.
    var value: AttributeValue {
        switch self {
        case .null: .null
        case .integer(let number): .integer(number)
        case .double(let number): .double(number)
        }
    }

    /// The value that `AttributeType.converting` makes of the number, for a type of whole or binary numbers.
    ///
    /// - Returns: `nil` for another type, for NaN, and for a number that the type does not hold, or of which only
    ///   `converting` finds out whether it does.
    package func stored(as type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.integer16, .null), (.integer32, .null), (.integer64, .null), (.double, .null), (.float, .null):
            return .null
        case (.integer16, .integer(let number)): return Int16(exactly: number) == nil ? nil : .integer(number)
        case (.integer32, .integer(let number)): return Int32(exactly: number) == nil ? nil : .integer(number)
        case (.integer64, .integer(let number)): return .integer(number)
        case (.integer16, .double(let number)), (.integer32, .double(let number)), (.integer64, .double(let number)):
            return Int64(exactly: number).flatMap { PlainNumber.integer($0).stored(as: type) }
        case (.double, .integer(let number)): return Double(exactly: number).map { .double($0) }
        case (.double, .double(let number)): return number.isNaN ? nil : .double(number)
        case (.float, .integer(let number)): return Float(exactly: number).map { .float($0) }
        case (.float, .double(let number)):
            let float = Float(number)
            return Double(float) == number ? .float(float) : nil
        default: return nil
        }
    }
}
