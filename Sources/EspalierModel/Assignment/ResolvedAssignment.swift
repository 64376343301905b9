// One property that a batch update sets: the name bound to a slot, and the value checked against its type.
//
// Invariants
//   1. The property is a stored attribute or a to-one relationship.
//   2. A constant is a value that the property accepts. Any other expression has values of the property's family, and
//      each value is converted when it is computed.

/// A property and the expression of its new value (BR-04).
public struct ResolvedAssignment: Sendable {
    /// The property, by its slot.
    public let property: Entity.Property
    /// The name of the property.
    public let name: String
    /// The entity to which the names were bound.
    package let entity: Entity
    private let model: ManagedObjectModel
    /// The new value, before it is converted to the type of the property.
    package let expression: ResolvedExpression

    /// Checks `expression` against the property called `name` of `entity`, and resolves its names.
    ///
    /// - Throws: `AssignmentError` for a property that cannot be set, and for values that it cannot have.
    /// - Complexity: O(size of the expression).
    public init(
        _ name: String, _ expression: FetchExpression, for entity: Entity, in model: ManagedObjectModel
    ) throws(AssignmentError) {
        property = try entity.assignableProperty(named: name)
        (self.name, self.entity, self.model) = (name, entity, model)
        var resolver = PredicateResolver(entity: entity, model: model)
        let operand: PredicateResolver.Operand
        do throws(FetchPredicateError) {
            operand = try resolver.resolve(expression)
            guard !operand.isCollection else {
                throw FetchPredicateError(.toManyPath(operand.description, advice: "a property has a single value"))
            }
        } catch {
            throw AssignmentError(entity, name, .wrongExpression(error))
        }
        if case .value(let value) = operand.expression {
            self.expression = .value(try entity.converting(value, for: property, in: model))
            return
        }
        let expected = entity.type(of: property)
        let families = [PredicateResolver.Family(expected), operand.family]
        guard families.contains(.any) || families[0] == families[1] else {
            let mismatch = FetchPredicateError.Reason.typeMismatch(
                found: operand.description, expected: families[0].description)
            throw AssignmentError(entity, name, .wrongExpression(FetchPredicateError(mismatch)))
        }
        self.expression = operand.expression
    }

    /// The new value, if it is the same for all objects.
    public var constant: AttributeValue? {
        if case .value(let value) = expression { value } else { nil }
    }

    /// Whether the new value follows from attributes and to-one relationships of the object itself.
    package var readsOwnValuesOnly: Bool { expression.ownProperties != nil }

    /// Whether the evaluation can be stopped, because a regular expression takes too many steps.
    package var hasRegularExpression: Bool { expression.hasRegularExpression }

    /// The new value for an object, whose entity is that of the assignment or inherits from it.
    ///
    /// - Returns: the error of the property if it cannot have the value.
    /// - Throws: the error of reading the object.
    public func value<Subject: PredicateSubject>(
        for subject: Subject
    ) throws(Subject.Failure) -> Result<AttributeValue, AssignmentError> {
        if let constant { return .success(constant) }
        let value = try expression.value(on: subject)
        do throws(AssignmentError) {
            return .success(try entity.converting(value, for: property, in: model))
        } catch {
            return .failure(error)
        }
    }
}

extension Entity {
    /// The type of the values of an attribute; `objectID` for a to-one relationship.
    fileprivate func type(of property: Property) -> AttributeType {
        switch property {
        case .attribute(let slot): attributes[slot].type
        case .relationship: .objectID
        }
    }
}
