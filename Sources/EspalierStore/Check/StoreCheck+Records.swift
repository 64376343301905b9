// The check of content that is no row and not derived from one: metadata, records of the schema, and counters and trees
// without meaning.

internal import EspalierEngine
internal import EspalierModel

extension StoreCheck {
    /// Checks that every entry of the metadata is a value.
    mutating func checkMetadata() throws(StoreError) {
        let tree = catalog.metadata
        try forEachEntry(in: tree) { key, value in
            if String(validating: key.copy(0..<key.byteCount), as: UTF8.self) == nil
                || TaggedValue.decode(value.copy(0..<value.byteCount)) == nil
            {
                note(nil, tree, Self.hexadecimal(key), "the metadata entry is not a value")
            }
            return true
        }
    }

    /// Checks that every counter is a number of a known kind; the numbers themselves are compared elsewhere, later.
    mutating func checkCounters() throws(StoreError) {
        let tree = catalog.counters
        guard !isNew(tree) else { return }
        var strays: [UInt64] = []
        var cursor = try session.transaction.cursor(over: tree)
        while try cursor.next() {
            let key = try cursor.key
            let number = Int(key & 0xFFFF_FFFF)
            let isEntity = (1..<max(catalog.numbering.entities.count, 1)).contains(number)
            let isKnown = key >> 32 == 3 || [1, 2, 4].contains(key >> 32) && isEntity
            let byteCount = try cursor.value().count
            guard !isKnown || byteCount != 8 else { continue }
            note(nil, tree, "\(key)", "the counter does not have 8 bytes, or its key names nothing in the store")
            strays.append(key)
        }
        for key in strays { try mender?.removeCounter(key, catalog) }
    }

    /// Checks that only the records and trees that the model asks for exist.
    mutating func checkSchema() throws(StoreError) {
        let names = Set(StoreCatalog.trees(of: catalog.schema).map(\.name))
        for tree in try session.transaction.trees()
        where !names.contains(tree.name) && !catalog.schema.unusedTreeNames.contains(tree.name) {
            if ["rows:", "index:", "unique:", "links:", "owners:"].contains(where: { tree.name.hasPrefix($0) }) {
                note(nil, treeNamed: tree.name, "", "the model does not require this tree")
            }
            guard tree.name == StoreName.schema else { continue }
            // The format, the model, and numbered records, each of which was read when the store was opened.
            let expected = catalog.numbering.entities.count + catalog.numbering.layouts.count
            let count = try session.transaction.count(of: tree)
            if count != UInt64(expected) {
                note(
                    nil, treeNamed: tree.name, "", "the tree has \(count) records, but only \(expected) have a meaning")
            }
        }
    }
}
