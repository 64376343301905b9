// The indexes and constraints whose entries a change of a row replaces.

internal import EspalierModel

extension SaveExecution {
    /// The groups in which the row may get other values.
    ///
    /// An expression or a condition can tell values apart that are equal, such as 0 and -0, so the entry of a row is
    /// always replaced if one of them reads a property that is set.
    func changedGroups(_ update: SaveRequest.Update, _ old: ObjectSnapshot) -> [Int] {
        assert(update.id == old.id, "an update of \(update.id) is compared with \(old.id)")
        let entity = catalog.schema.entityIndex(of: old.id)
        guard catalog.schema.isIndexed(update.values, update.destinations, of: entity) else { return [] }
        return catalog.schema.groupsByEntity[entity].filter { position in
            let group = catalog.schema.groups[position]
            return group.sources.contains { property in
                switch property {
                case .attribute(let slot):
                    update.values.last { $0.slot == slot }
                        .map { group.computedSources.contains(property) || $0.value != old.value(at: slot) } ?? false
                case .relationship(let slot):
                    update.destinations.last { $0.slot == slot }.map { $0.destination != old.destination(at: slot) }
                        ?? false
                }
            }
        }
    }
}
