// Compares the elements of a composite with those that they continue, at any depth: as attributes are compared, and by
// paths such as `home.zip`.
//
// Invariants
//   1. A change costs a rewrite exactly if older values have other bytes in the newer composite
//      (`AttributeConversion.keepsValues`).

extension DifferenceBuilder {
    /// A composite in an older and a newer model.
    struct CompositePlace {
        /// The newer entity that declares it.
        let entity: String
        /// The path from that entity.
        var path: String
        /// The older entity and the path from it.
        var formerPath: String
        /// Whether rows have and had its values.
        let isStored: Bool
        /// The names of the older entities whose rows have them.
        let rows: [String]

        /// The place of a composite that is an element of this one.
        func element(_ name: String, formerly formerName: String) -> CompositePlace {
            var place = self
            (place.path, place.formerPath) = ("\(path).\(name)", "\(formerPath).\(formerName)")
            return place
        }
    }

    mutating func compareElements(_ conversion: AttributeConversion, _ place: CompositePlace) {
        func add(
            _ name: String, _ kind: ModelChange.Kind, _ cost: ModelChange.Cost = .constant, loss: MigrationLoss? = nil
        ) {
            let isConstant = !place.isStored || cost == .constant
            let isLoss = place.isStored && !place.rows.isEmpty
            changes.append(
                ModelChange(
                    place.entity, "\(place.path).\(name)", kind, isConstant ? .constant : cost,
                    rows: isConstant ? [] : place.rows, loss: isLoss ? loss : nil))
        }
        for element in conversion.elements {
            let value = element.description
            let filling = element.fill.isNull ? ModelChange.Cost.check : .rewrite
            guard let former = element.former, let inner = element.conversion else {
                let isAbsent = value.isOptional && element.fill.isNull
                add(value.name, .attributeAdded(value.type), isAbsent ? .constant : filling)
                continue
            }
            if former.name != value.name { add(value.name, .propertyRenamed(from: former.name), .rewrite) }
            if former.type != value.type {
                add(value.name, .typeChanged(from: former.type, to: value.type), .rewrite)
            } else {
                compareElements(inner, place.element(value.name, formerly: former.name))
            }
            if former.isOptional != value.isOptional {
                add(
                    value.name, value.isOptional ? .madeOptional : .madeRequired,
                    value.isOptional ? .constant : filling)
            }
            if former.defaultValue != value.defaultValue {
                add(value.name, .defaultChanged(from: former.defaultValue, to: value.defaultValue))
            }
            if former.valueTransformerName != value.valueTransformerName {
                add(
                    value.name,
                    .transformerChanged(from: former.valueTransformerName, to: value.valueTransformerName))
            }
        }
        for former in conversion.gone {
            add(former.name, .attributeRemoved, .rewrite, loss: .removal(of: "\(place.formerPath).\(former.name)"))
        }
    }
}
