// The check of derived values: each is computed from what the store has, and compared.
//
// Not here: rows and lists that cannot be read, which the other checks report.

internal import EspalierEngine
internal import EspalierModel

extension StoreCheck {
    /// Compares the derived values of all rows, except times of saves, with those that follow from the other values.
    mutating func checkDerivedValues() throws(StoreError) {
        for member in catalog.schema.derivations.members {
            if case .now = member.derivation.source { continue }
            let root = model.entities[member.entity.root]
            let isMember = catalog.numbering.isWanted(member.entity, includesSubentities: true)
            let (tree, attribute) = (catalog.rowTree(of: root), member.derivation.attribute)
            try forEachRow(of: root) { key, row throws(StoreError) in
                guard let number = session.entityNumber(of: row, key, root), isMember[Int(number)],
                    let entity = catalog.numbering.entity(number),
                    let id = catalog.numbering.id(entityNumber: number, key: key)
                else { return countStep() }
                let stored = session.reader.value(at: member.slot, row)
                let subject = EvaluatedRow(
                    objectID: id, entity: entity, row: SharedBytes(row.copy(0..<row.byteCount)), session: session)
                if let value = try? member.derivation.value(on: subject),
                    UniqueValue(value) != UniqueValue(stored)
                {
                    report.wrongDerivedCount += 1
                    let expression = attribute.derivation?.expression ?? ""
                    note(
                        entity, tree, "\(key)",
                        "\(attribute.name) is \(stored.shortText), but '\(expression)' gives \(value.shortText)")
                }
                return countStep()
            }
            session.forgetRows()
            guard !isCancelled else { return }
        }
    }
}
