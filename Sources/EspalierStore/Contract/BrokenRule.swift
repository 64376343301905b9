// A value that a command cannot give to a row, because the model does not allow it.

public import EspalierModel

/// A rule of the model that a new or changed row of a command would break.
public struct BrokenRule: Sendable {
    /// The broken rule.
    public enum Kind: Sendable {
        /// The property must have a value (1570).
        case missingValue
        /// The value breaks a validation rule of the attribute.
        case rule(ValidationRule, value: AttributeValue)
        /// The property cannot have the value.
        case assignment(AssignmentError)
    }

    /// The broken rule.
    public let kind: Kind
    /// The name of the row's entity.
    public let entityName: String
    /// The name of the property.
    public let property: String
    /// The row; `nil` for a new one.
    public let row: ObjectID?
    /// The position of a new row among those of the command, from 0.
    public let position: Int?

    /// A new row that breaks a rule.
    public init(_ kind: Kind, entityName: String, property: String, position: Int) {
        (self.kind, self.entityName, self.property) = (kind, entityName, property)
        (row, self.position) = (nil, position)
    }

    /// A stored row that would break a rule.
    public init(_ kind: Kind, property: String, row: ObjectID) {
        (self.kind, entityName, self.property) = (kind, row.entityName, property)
        (self.row, position) = (row, nil)
    }
}

extension BrokenRule: CustomStringConvertible {
    /// The row, the property, and the problem.
    public var description: String {
        let place = row.map { " of \($0)" } ?? position.map { " of row \($0)" } ?? ""
        return switch kind {
        case .missingValue: "\(entityName).\(property)\(place) has no value, but must have one"
        case .rule(let rule, _): "\(entityName).\(property)\(place) breaks the rule \(rule.condition)"
        case .assignment(let error): "\(error)\(place.isEmpty ? "" : " (\(place.dropFirst()))")"
        }
    }
}
