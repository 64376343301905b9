// Rows as a store of an application makes them: by the names of properties.

public import EspalierModel

extension ObjectSnapshot {
    /// A row with these values and to-one destinations, by name; properties that are not named have none.
    ///
    /// - Throws: `StoreError.invalidRequest` for a name that is no attribute, or no to-one relationship, of `entity`.
    /// - Complexity: O(properties).
    public init(
        id: ObjectID, version: UInt64, of entity: Entity, values: [String: AttributeValue],
        destinations: [String: ObjectID] = [:]
    ) throws(StoreError) {
        var (row, ids) = (
            [AttributeValue](repeating: .null, count: entity.attributes.count),
            [ObjectID?](repeating: nil, count: entity.relationships.count)
        )
        for (name, value) in values {
            guard let attribute = entity.attribute(named: name) else {
                throw .invalidRequest(reason: Self.unknown(name, "attribute", entity.attributes.map(\.name), entity))
            }
            row[attribute.slot] = value
        }
        for (name, id) in destinations {
            let toOnes = entity.relationships.filter { !$0.isToMany }
            guard let relationship = toOnes.first(where: { $0.name == name }) else {
                throw .invalidRequest(reason: Self.unknown(name, "to-one relationship", toOnes.map(\.name), entity))
            }
            ids[relationship.slot] = id
        }
        self.init(id: id, version: version, values: row, destinations: ids)
    }

    private static func unknown(_ name: String, _ kind: String, _ known: [String], _ entity: Entity) -> String {
        let suggestion = NameSuggestion.nearest(to: name, among: known).map { "; did you mean \($0)?" } ?? ""
        return "\(entity.name) has no \(kind) \"\(name)\"\(suggestion)"
    }

    /// The numbers of values and of destinations; `nil` if a built-in store has made the row.
    package var slotCounts: (values: Int, destinations: Int)? {
        content.decodedValues.map { ($0.values.count, $0.destinations.count) }
    }
}
