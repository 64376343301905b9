// The errors of values that a batch request gives to properties: facts in cases, all wording in one place.

/// The reason why a batch request cannot set a property (BR-01, BR-04).
public struct AssignmentError: Error, Hashable, Sendable {
    /// The kinds of errors, with their facts.
    public enum Reason: Hashable, Sendable {
        /// The entity has no such property.
        case unknownProperty(known: [String])
        /// The property is not stored.
        case transientProperty
        /// Stores compute the value (MD-27).
        case derivedProperty(expression: String)
        /// A to-many relationship is no part of a row.
        case toManyRelationship
        /// The attribute has no equal value.
        case wrongValue(AttributeValueError)
        /// A to-one relationship gets no object, or one of another entity.
        case wrongDestination(found: String, expected: String)
        /// The value has no form in which it could be stored.
        case unfit(String)
        /// The expression cannot be resolved, or has values of another type.
        case wrongExpression(FetchPredicateError)
    }

    /// The entity of the request.
    public let entityName: String
    /// The name of the property.
    public let property: String
    /// The kind of the error.
    public let reason: Reason

    /// Makes the error of a property.
    package init(_ entity: Entity, _ property: String, _ reason: Reason) {
        (entityName, self.property, self.reason) = (entity.name, property, reason)
    }

    /// The name that was probably meant.
    public var suggestion: String? {
        guard case .unknownProperty(let known) = reason else { return nil }
        return NameSuggestion.nearest(to: property, among: known)
    }
}

extension AssignmentError: CustomStringConvertible {
    /// The property, the problem and the remedy.
    public var description: String {
        let text =
            switch reason {
            case .unknownProperty(let known):
                "the property does not exist; the entity has \(known.joined(separator: ", "))"
                    + (suggestion.map { "; did you mean '\($0)'?" } ?? "")
            case .transientProperty: "transient attributes are not stored, so a batch request cannot set them"
            case .derivedProperty(let expression):
                "stores derive it by '\(expression)', so a batch request cannot set it; set what it is derived from"
            case .toManyRelationship:
                "a batch request cannot set a to-many relationship; set the to-one relationship at its other end, or "
                    + "change objects of a context"
            case .wrongValue(let error): "\(error)"
            case .wrongDestination(let found, let expected): "found \(found), expected \(expected)"
            case .unfit(let problem): problem
            case .wrongExpression(let error): "\(error)"
            }
        return "\(entityName).\(property): \(text)"
    }
}
