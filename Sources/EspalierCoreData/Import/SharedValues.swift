// Values that must be unique in the new store and are not. SQLite compares the bytes of texts, Espalier their canonical
// compositions, so a store of Core Data may have rows that share a value here.
//
// Rules
//   1. Of rows that share a value, the one that was saved first keeps it. The others lose one value of the constraint:
//      an optional attribute before a required one, a text before other values, an attribute before a destination.
//   2. A derived value is lost with the value of the same row from which it follows. Rows with others are refused.

import EspalierModel
import EspalierStore

/// A value that was left out, because another row has it.
struct SharedValue: Sendable {
    let object: ObjectID
    let property: Entity.Property
    /// The name of the property.
    let name: String
    /// The names of all properties of the constraint.
    let names: [String]
    let other: ObjectID

    /// A description of the fault.
    var message: String {
        "\(other.entityName)/p\(other.key) has the same \(names.joined(separator: ", ")), which must be unique"
    }
}

extension BTreeStore {
    /// Saves `request` without the values that other rows have too, although they must be unique; returns those values.
    func saveUnshared(_ request: SaveRequest) throws(StoreError) -> [SharedValue] {
        var request = request
        var shared: [SharedValue] = []
        while true {
            do throws(StoreError) {
                _ = try save(request)
                return shared
            } catch {
                guard case .constraint(let conflicts) = error else { throw error }
                // Each round empties a value, so the last one has none.
                let found = request.leaveOut(conflicts, in: model)
                guard !found.isEmpty else { throw error }
                shared += found
            }
        }
    }
}

extension SaveRequest {
    private struct Place: Hashable {
        let object: ObjectID
        let name: String
    }

    /// Empties a value of each row that shares values with an earlier one; returns those values.
    ///
    /// - Complexity: O(rows of the request and conflicts).
    fileprivate mutating func leaveOut(
        _ conflicts: [ConstraintConflict], in model: ManagedObjectModel
    ) -> [SharedValue] {
        let inserted = Dictionary(insertions.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let updated = Dictionary(updates.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        var shared: [SharedValue] = []
        var empty: Set<Place> = []
        for conflict in conflicts {
            // Two rows may differ by what was emptied just now: the next round tells.
            let places = conflict.properties.flatMap { name in
                [conflict.object, conflict.other].map { Place(object: $0, name: name) }
            }
            guard empty.isDisjoint(with: places), let entity = model.entity(named: conflict.object.entityName),
                let (property, name) = Self.emptied(conflict.properties, in: entity)
            else { continue }
            let isEmptied: Bool
            if let position = inserted[conflict.object] {
                isEmptied = insertions[position].empty(property)
            } else if let position = updated[conflict.object] {
                isEmptied = updates[position].empty(property)
            } else {
                isEmptied = false
            }
            guard isEmptied else { continue }
            for name in conflict.properties + [name] { empty.insert(Place(object: conflict.object, name: name)) }
            shared.append(
                SharedValue(
                    object: conflict.object, property: property, name: name, names: conflict.properties,
                    other: conflict.other))
        }
        return shared
    }

    /// The property of a constraint that a row loses, with its name; `nil` if all values follow from other rows.
    private static func emptied(
        _ names: [String], in entity: Entity
    ) -> (property: Entity.Property, name: String)? {
        let attributes = names.compactMap { entity.attribute(named: $0).flatMap { origin(of: $0, in: entity) } }
        let attribute = attributes.min { left, right in
            func rank(_ attribute: Attribute) -> (Int, Int) {
                (attribute.isOptional ? 0 : 1, [.string, .uri].contains(attribute.type) ? 0 : 1)
            }
            return rank(left) < rank(right)
        }
        if let attribute { return (.attribute(attribute.slot), attribute.name) }
        for name in names {
            if let relationship = entity.relationship(named: name) { return (.relationship(relationship.slot), name) }
        }
        return nil
    }

    /// The attribute from whose value alone that of `attribute` follows; `nil` if there is none in the same row.
    private static func origin(of attribute: Attribute, in entity: Entity) -> Attribute? {
        var attribute = attribute
        while let derivation = attribute.derivation {
            switch derivation {
            case .value(let path), .canonical(let path), .lowercase(let path), .uppercase(let path):
                guard let source = entity.attribute(named: path) else { return nil }
                attribute = source
            case .count, .sum, .average, .minimum, .maximum, .now: return nil
            }
        }
        return attribute
    }
}

extension SaveRequest.Insertion {
    /// Empties a property; returns `false` if it is empty already.
    fileprivate mutating func empty(_ property: Entity.Property) -> Bool {
        switch property {
        case .attribute(let slot):
            guard !values[slot].isNull else { return false }
            values[slot] = .null
        case .relationship(let slot):
            guard destinations[slot] != nil else { return false }
            destinations[slot] = nil
        }
        return true
    }
}

extension SaveRequest.Update {
    /// Empties a property; returns `false` if the update does so already.
    fileprivate mutating func empty(_ property: Entity.Property) -> Bool {
        switch property {
        case .attribute(let slot):
            guard !values.contains(where: { $0.slot == slot && $0.value.isNull }) else { return false }
            values.removeAll { $0.slot == slot }
            values.append((slot, .null))
        case .relationship(let slot):
            guard !destinations.contains(where: { $0.slot == slot && $0.destination == nil }) else { return false }
            destinations.removeAll { $0.slot == slot }
            destinations.append((slot, nil))
        }
        return true
    }
}
