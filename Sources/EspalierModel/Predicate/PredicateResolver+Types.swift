// Checks the types of operands, and converts constants to the type of the other side.

import FoundationEssentials

extension PredicateResolver {
    /// The groups of types that can be compared with each other.
    enum Family: Hashable {
        /// Null, and functions whose type depends on their arguments.
        case any
        case number, text, boolean, date, bytes, uuid, uri, transformable, object, composite
    }

    /// A resolved operand, with facts about its values.
    struct Operand {
        var expression: ResolvedExpression
        var family: Family
        /// The type of the attribute to which the values belong.
        var type: AttributeType?
        var isCollection = false
        /// The key path from which the operand was made; for messages.
        var keyPath: FetchKeyPath?
        /// The column at which the operand begins as a side of a comparison.
        var place: Int?

        /// Whether the operand is a list in braces.
        var isList: Bool {
            switch expression {
            case .values, .list: true
            default: false
            }
        }

        var isConstant: Bool {
            switch expression {
            case .value, .values: true
            default: false
            }
        }

        /// The operand in words.
        var description: String {
            switch expression {
            case .value(let value): return value.kindDescription
            case .values, .list: return "a list"
            default: break
            }
            let name = keyPath.map { "'\($0.components.joined(separator: "."))', which is " } ?? ""
            return name + (type.map { "of type \($0)" } ?? family.description)
        }
    }

    /// Checks that a side is a collection exactly where the operator and the modifier require one.
    func checkShape(_ sides: Sides) throws(FetchPredicateError) {
        let (left, right) = (sides.left, sides.right)
        if sides.modifier == .direct, left.isCollection {
            let leftPath = left.keyPath?.components.joined(separator: ".") ?? "the left side"
            let advice =
                left.isList
                ? "compare one value with the list: value IN {...}"
                : "put ANY, ALL or NONE in front, or use an operator like @count"
            throw located(.toManyPath(leftPath, advice: advice), at: left.keyPath)
        }
        if sides.modifier != .direct, !left.isCollection {
            throw located(.modifierWithoutCollection("\(sides.modifier)".uppercased()), at: left.keyPath)
        }
        switch sides.operator {
        case .in:
            guard right.isCollection else {
                throw located(.typeMismatch(found: right.description, expected: "a list after IN"), at: left.keyPath)
            }
        case .between:
            let count =
                switch right.expression {
                case .values(let bounds): bounds.count
                case .list(let bounds): bounds.count
                default: 0
                }
            guard count == 2 else {
                let found = right.isList ? "a list of \(count)" : right.description
                throw located(
                    .typeMismatch(found: found, expected: "{lower, upper} after BETWEEN"), at: left.keyPath)
            }
        default:
            guard !right.isCollection else {
                let path = right.keyPath?.components.joined(separator: ".") ?? "the right side"
                let advice = "only IN takes a collection on the right; lists as a whole are not compared"
                throw located(.toManyPath(path, advice: advice), at: right.keyPath ?? left.keyPath)
            }
        }
    }

    /// Converts constants to the other side's type (invariant 2 of ResolvedPredicate).
    func convertConstants(of sides: inout Sides) throws(FetchPredicateError) {
        let (left, right) = (sides.left, sides.right)
        sides.right = try converted(right, to: left, in: sides)
        if left.isConstant { sides.left = try converted(left, to: right, in: sides) }
    }

    private func converted(
        _ operand: Operand, to other: Operand, in sides: Sides
    ) throws(FetchPredicateError) -> Operand {
        func converted(_ value: AttributeValue) throws(FetchPredicateError) -> AttributeValue {
            if let converted = self.converted(value, to: other) { return converted }
            let mismatch = FetchPredicateError.Reason.typeMismatch(
                found: value.kindDescription, expected: other.family.expectation(for: other))
            throw located(mismatch, at: operand, in: sides)
        }
        var result = operand
        switch operand.expression {
        case .value(let value): result.expression = .value(try converted(value))
        case .values(let values):
            var members: [AttributeValue] = []
            for value in values { members.append(try converted(value)) }
            result.expression = .values(members)
        case .list(let elements):
            var members: [ResolvedExpression] = []
            for element in elements {
                if case .value(let value) = element {
                    members.append(.value(try converted(value)))
                } else {
                    members.append(element)
                }
            }
            result.expression = .list(members)
        default: return operand
        }
        if other.family != .any, operand.family != .any { result.family = other.family }
        return result
    }

    /// The value converted to the other side's type; `nil` if there is no such value.
    private func converted(_ value: AttributeValue, to other: Operand) -> AttributeValue? {
        if value.isNull || other.family == .any { return value }
        if let type = other.type, let converted = try? type.converting(value) { return converted }
        switch (other.family, value) {
        case (.number, _) where value.number != nil: return value
        // Dates, UUIDs and URIs have no literals, so their texts are accepted.
        case (.date, .string), (.uuid, .string), (.uri, .string):
            let type: AttributeType = other.family == .date ? .date : other.family == .uuid ? .uuid : .uri
            let converted = ResolvedFunction.cast(value, to: type)
            if !converted.isNull { return converted }
        case (.text, .string), (.boolean, .boolean), (.date, .date), (.bytes, .binary), (.uuid, .uuid), (.uri, .uri),
            (.transformable, .transformable), (.object, .objectID):
            return value
        default: break
        }
        return nil
    }

    /// Checks that both sides belong to one family.
    func checkFamilies(of sides: Sides) throws(FetchPredicateError) {
        let (left, right) = (sides.left, sides.right)
        if left.family != .any, right.family != .any, left.family != right.family {
            throw located(
                .typeMismatch(found: right.description, expected: left.family.expectation(for: left)),
                at: right.keyPath ?? left.keyPath)
        }
    }

    /// Checks that the operator accepts values of these families.
    func checkOperator(of sides: Sides) throws(FetchPredicateError) {
        guard sides.operator.isTextual || sides.operator.isOrdering else { return }
        let (left, right) = (sides.left, sides.right)
        for side in [left, right] {
            if sides.operator.isTextual, side.family != .text, side.family != .any {
                throw located(
                    .typeMismatch(found: side.description, expected: "text for \(sides.operator.keyword)"),
                    at: side.keyPath ?? left.keyPath)
            }
            if sides.operator.isOrdering, !side.family.hasOrder {
                throw located(
                    .typeMismatch(
                        found: side.description, expected: "values with an order for \(sides.operator.keyword)"),
                    at: side.keyPath ?? left.keyPath)
            }
        }
    }
}

extension PredicateResolver.Family {
    init(_ type: AttributeType) {
        switch type {
        case .undefined: self = .any
        case .integer16, .integer32, .integer64, .decimal, .double, .float: self = .number
        case .string: self = .text
        case .boolean: self = .boolean
        case .date: self = .date
        case .binary: self = .bytes
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .transformable: self = .transformable
        case .objectID: self = .object
        case .composite: self = .composite
        }
    }

    init(_ value: AttributeValue) {
        switch value {
        case .null: self = .any
        case .integer, .decimal, .double, .float: self = .number
        case .string: self = .text
        case .boolean: self = .boolean
        case .date: self = .date
        case .binary: self = .bytes
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .transformable: self = .transformable
        case .objectID: self = .object
        case .composite: self = .composite
        }
    }

    /// The type of the codes of these values in indexes and sorted rows; `undefined` for numbers of all types, `nil`
    /// for values without an order.
    var keyType: AttributeType? {
        switch self {
        case .number: .undefined
        case .text: .string
        case .boolean: .boolean
        case .date: .date
        case .bytes: .binary
        case .uuid: .uuid
        case .uri: .uri
        case .any, .transformable, .object, .composite: nil
        }
    }

    /// Whether the values can be compared by `<`, and sorted.
    var hasOrder: Bool { ![.object, .composite, .transformable].contains(self) }

    /// The values of the family in words.
    var description: String {
        switch self {
        case .any: "any value"
        case .number: "a number"
        case .text: "text"
        case .boolean: "a boolean"
        case .date: "a date"
        case .bytes: "bytes"
        case .uuid: "a UUID"
        case .uri: "a URI"
        case .transformable: "a transformable value"
        case .object: "an object"
        case .composite: "a composite"
        }
    }

    /// The kind of operand that fits `operand`, in words.
    fileprivate func expectation(for operand: PredicateResolver.Operand) -> String {
        let name = operand.keyPath.map { " to compare with '\($0.components.joined(separator: "."))'" } ?? ""
        switch self {
        case .boolean: return "YES or NO" + name
        case .date: return "a date" + name + ", such as a %@ argument or '2009-01-31T12:00:00Z'"
        case .object: return "an object or its ID" + name + ", or a path on to one of its properties"
        case .composite: return "one of its elements: a composite as a whole cannot be compared"
        default: return description + name
        }
    }
}
