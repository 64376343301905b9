// The properties that a batch request may set, and the values that they accept.

extension Entity {
    /// The stored attribute or to-one relationship called `name`.
    package func assignableProperty(named name: String) throws(AssignmentError) -> Property {
        guard let property = property(named: name) else {
            let known =
                attributes.filter { !$0.isTransient && !$0.isDerived }.map(\.name)
                + relationships.filter { !$0.isToMany }.map(\.name)
            throw AssignmentError(self, name, .unknownProperty(known: known))
        }
        switch property {
        case .attribute(let slot) where attributes[slot].isTransient:
            throw AssignmentError(self, name, .transientProperty)
        case .attribute(let slot) where attributes[slot].isDerived:
            throw AssignmentError(
                self, name, .derivedProperty(expression: attributes[slot].derivation?.expression ?? ""))
        case .relationship(let slot) where relationships[slot].isToMany:
            throw AssignmentError(self, name, .toManyRelationship)
        case .attribute, .relationship: return property
        }
    }

    /// `value` as an assignable property stores it: numbers become numbers of its type if that loses nothing, and the
    /// destination of a relationship is an object ID.
    package func converting(
        _ value: AttributeValue, for property: Property, in model: ManagedObjectModel
    ) throws(AssignmentError) -> AttributeValue {
        switch property {
        case .attribute(let slot):
            let attribute = attributes[slot]
            if attribute.accepts(value) { return value }
            do { return try attribute.description.converting(value) } catch {
                throw AssignmentError(self, attribute.name, .wrongValue(error))
            }
        case .relationship(let slot):
            let destination = model.destination(of: relationships[slot])
            switch value {
            case .null: return value
            case .objectID(let id)
            where model.entity(named: id.entityName)?.isKind(of: destination) == true && !id.isTemporary:
                return value
            default:
                let found =
                    if case .objectID(let id) = value, id.isTemporary {
                        "\(id), which no store has yet"
                    } else { value.kindDescription }
                throw AssignmentError(
                    self, relationships[slot].name,
                    .wrongDestination(found: found, expected: "the ID of a stored \(destination.name), or no value"))
            }
        }
    }
}
