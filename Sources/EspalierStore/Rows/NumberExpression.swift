// Expressions over the whole and binary numbers of a row, compiled into steps that read the bytes of the row in place.
//
// Invariants
//   1. The result is that of an evaluation of the expression, as a plain number: both compute it by
//      `ResolvedFunction.result`.
//   2. The operands of a function precede it. Each step adds one number to the stack, a function in the place of two;
//      after the last step the stack has one.
// `init` returns `nil` for an expression that reads or computes anything else: it has to be evaluated.

internal import EspalierModel

/// A compiled expression.
struct NumberExpression {
    private enum Step {
        case number(PlainNumber)
        case attribute(RowLayout.Place)
        case function(ResolvedFunction)
    }

    private var steps: [Step] = []

    /// Compiles an expression for the rows of a layout.
    init?(_ expression: ResolvedExpression, in layout: RowLayout) {
        guard append(expression, layout) else { return nil }
        assert(checkInvariants())
    }

    /// Appends the steps of an expression; `false` if it has to be evaluated.
    private mutating func append(_ expression: ResolvedExpression, _ layout: RowLayout) -> Bool {
        switch expression {
        case .value(let value):
            guard let number = PlainNumber(value) else { return false }
            steps.append(.number(number))
        case .path(let path):
            guard path.base == .evaluatedObject, path.steps.isEmpty,
                case .attribute(let slot, _, elements: []) = path.terminal, let place = layout.attributes[slot],
                Self.isNumber(place)
            else { return false }
            steps.append(.attribute(place))
        case .function(let function, let arguments):
            guard function.isArithmetic, arguments.count == 2, append(arguments[0], layout),
                append(arguments[1], layout)
            else { return false }
            steps.append(.function(function))
        case .values, .list, .aggregate, .conditional, .subquery: return false
        }
        return true
    }

    private static func isNumber(_ place: RowLayout.Place) -> Bool {
        switch place.content {
        case .attribute(.integer16), .attribute(.integer32), .attribute(.integer64), .attribute(.double),
            .attribute(.float):
            true
        case .attribute, .reference: false
        }
    }

    /// The number that the expression has for a checked row of the layout.
    ///
    /// - Parameter stack: memory for operands, reused for every row; its contents before the call do not matter.
    /// - Complexity: O(size of the expression).
    func number(_ row: RawSpan, _ offsets: RowOffsets, _ stack: inout [PlainNumber]) -> PlainNumber {
        stack.removeAll(keepingCapacity: true)
        for step in steps {
            switch step {
            case .number(let number): stack.append(number)
            case .attribute(let place): stack.append(Self.number(at: place, offsets, row))
            case .function(let function):
                let right = stack.removeLast()
                let left = stack.removeLast()
                stack.append(function.result(left, right))
            }
        }
        assert(stack.count == 1, "invariant 2: \(stack.count) numbers are left")
        return stack[0]
    }

    private static func number(at place: RowLayout.Place, _ offsets: RowOffsets, _ row: RawSpan) -> PlainNumber {
        assert(isNumber(place), "the field at \(place.position) is no number")
        guard !offsets.isNull(bit: place.bit, row), case .attribute(let type) = place.content else { return .null }
        let offset = offsets.fixedOffset + place.position
        switch type {
        case .integer64: return .integer(offsets.integer(at: place.position, row))
        case .integer32: return .integer(Int64(row.number(at: offset, as: Int32.self)))
        case .integer16: return .integer(Int64(row.number(at: offset, as: Int16.self)))
        case .double: return .double(Double(bitPattern: row.number(at: offset)))
        case .float: return .double(Double(Float(bitPattern: row.number(at: offset))))
        default: return .null
        }
    }

    /// Asserts invariant 2; to be called in `assert`.
    private func checkInvariants() -> Bool {
        var count = 0
        for step in steps {
            if case .function = step { count -= 2 }
            assert(count >= 0, "invariant 2: a function has fewer than two operands")
            count += 1
        }
        assert(count == 1, "invariant 2: \(steps.count) steps have \(count) results")
        return true
    }
}
