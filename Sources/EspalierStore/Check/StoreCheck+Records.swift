// The check of what is neither row nor follows from one: metadata, records of the schema, counters and trees that mean
// nothing.

internal import EspalierEngine
internal import EspalierModel

extension StoreCheck {
    /// Every entry of the metadata is a value.
    mutating func checkMetadata() throws(StoreError) {
        let tree = catalog.metadata
        try forEachEntry(in: tree) { key, value in
            if String(validating: key.copy(0..<key.byteCount), as: UTF8.self) == nil
                || TaggedValue.decode(value.copy(0..<value.byteCount)) == nil
            {
                note(nil, tree, Self.hexadecimal(key), "an entry of the metadata is no value")
            }
            return true
        }
    }

    /// Every counter counts something that there is; the values of those are compared elsewhere.
    mutating func checkCounters() throws(StoreError) {
        let tree = catalog.counters
        guard !isNew(tree) else { return }
        var strays: [UInt64] = []
        var cursor = try session.transaction.cursor(over: tree)
        while try cursor.next() {
            let (key, number) = (cursor.integerKey, UInt32(truncatingIfNeeded: cursor.integerKey))
            let entity = UInt16(exactly: number).flatMap { catalog.context.entity($0) }
            let isKnown =
                switch key >> 32 {
                case 1: entity != nil
                case 2: entity.map { $0.root == $0.index } ?? false
                case 3: catalog.groupTrees.contains { $0.id == number }
                default: false
                }
            if !isKnown {
                note(nil, tree, "\(key)", "the counter counts nothing that the store has")
                strays.append(key)
            } else if try cursor.value().count != 8, mender == nil {
                note(nil, tree, "\(key)", "the counter is no number of 8 bytes")
            }
        }
        for key in strays { try mender?.remove(key, from: tree) }
    }

    /// There are no records and no trees but those that the model asks for.
    mutating func checkSchema() throws(StoreError) {
        let names = Set(StoreCatalog.trees(of: catalog.schema).map(\.name))
        for tree in try session.transaction.trees() where !names.contains(tree.name) {
            if ["rows:", "index:", "unique:", "links:", "owners:"].contains(where: { tree.name.hasPrefix($0) }) {
                note(nil, tree, "", "the model asks for no such tree")
            }
            guard tree.name == StoreName.schema else { continue }
            // The format, the model, and numbered records, each of which was read when the store was opened.
            let expected = catalog.context.entities.count + catalog.context.layouts.count
            let count = try session.transaction.count(of: tree)
            if count != UInt64(expected) {
                note(nil, tree, "", "there are \(count) records, of which \(expected) mean something")
            }
        }
    }
}
