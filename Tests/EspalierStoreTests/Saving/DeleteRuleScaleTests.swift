// Delete rules over many rows: lists that are longer than the store reads at a time, deep chains, and their memory.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct DeleteRuleScaleTests {
    /// Folders in folders; each file has a folder, or is a shortcut of one.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Folder",
                relationships: [
                    RelationshipDescription("parent", to: "Folder", inverse: "folders"),
                    RelationshipDescription("folders", to: "Folder", inverse: "parent", .toMany, deleteRule: .cascade),
                    RelationshipDescription("files", to: "File", inverse: "folder", .toMany, deleteRule: .cascade),
                    RelationshipDescription("shortcuts", to: "File", inverse: "shortcut", .ordered),
                ]),
            EntityDescription(
                "File", attributes: [AttributeDescription("name", .string, isIndexed: true)],
                relationships: [
                    RelationshipDescription("folder", to: "Folder", inverse: "files"),
                    RelationshipDescription("shortcut", to: "Folder", inverse: "shortcuts"),
                ]),
        ])
    }

    /// A store with a folder of `files` files and `shortcuts` shortcuts, and the folder's ID.
    private func make(_ kind: StoreKind, files: Int, shortcuts: Int = 0) throws -> (any PersistentStore, ObjectID) {
        let model = try Self.model()
        let store: any PersistentStore =
            kind == .memory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model)
        var request = SaveRequest()
        let folder = ObjectID(temporaryFor: "Folder")
        request.insertions.append(.init(id: folder, values: [], destinations: [nil, nil, nil, nil]))
        for number in 0..<files + shortcuts {
            let isFile = number < files
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: "File"), values: [.string("file \(number)")],
                    destinations: [isFile ? folder : nil, isFile ? nil : folder]))
        }
        return (store, try #require(try store.save(request).inserted.first?.id))
    }

    private func delete(_ id: ObjectID, in store: any PersistentStore) throws -> SaveResult {
        var request = SaveRequest()
        let version = try #require(try store.snapshots(of: [id])[0]?.version)
        request.deletions = [.init(id: id, expectedVersion: version)]
        return try store.save(request)
    }

    private func count(_ name: String, in store: any PersistentStore) throws -> Int {
        try store.count(StoreFetch(entity: try #require(store.model.entity(named: name))))
    }

    @Test(arguments: [StoreKind.memory, .treeInMemory])
    func `a cascade over more rows than are taken at a time takes all of them`(_ kind: StoreKind) throws {
        for files in [0, 1, 255, 256, 257, 1000] {
            let (store, folder) = try make(kind, files: files, shortcuts: 300)

            let result = try delete(folder, in: store)

            #expect(result.deleted.count == files + 1 && result.changed.count == 300, "\(files) files")
            #expect(try count("File", in: store) == 300 && count("Folder", in: store) == 0, "\(files) files")
            if let tree = store as? BTreeStore {
                let report = try tree.check()
                #expect(report.isOK && report.dangling.isEmpty && report.indexEntryCount == 300, "\(files) files")
            }
        }
    }

    @Test(arguments: [StoreKind.memory, .treeInMemory])
    func `a cascade goes down a chain of any depth`(_ kind: StoreKind) throws {
        let depth = campaignCount("ESPALIER_CASCADE_DEPTH", default: 5000)
        let model = try Self.model()
        let store: any PersistentStore =
            kind == .memory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model)
        var request = SaveRequest()
        var parent: ObjectID?
        for _ in 0..<depth {
            let folder = ObjectID(temporaryFor: "Folder")
            request.insertions.append(.init(id: folder, values: [], destinations: [parent, nil, nil, nil]))
            parent = folder
        }
        let top = try #require(try store.save(request).inserted.first?.id)

        let result = try delete(top, in: store)

        #expect(result.deleted.count == depth)
        #expect(try count("Folder", in: store) == 0)
    }

    @Test(arguments: [StoreKind.memory, .treeInMemory])
    func `a row that several deleted rows lead to is deleted once`(_ kind: StoreKind) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Stem", relationships: [RelationshipDescription("leaves", to: "Leaf", inverse: "stem", .toMany)]),
            EntityDescription(
                "Leaf",
                relationships: [RelationshipDescription("stem", to: "Stem", inverse: "leaves", deleteRule: .cascade)]),
        ])
        let store: any PersistentStore =
            kind == .memory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model)
        var request = SaveRequest()
        for _ in 0..<2 {
            let stem = ObjectID(temporaryFor: "Stem")
            request.insertions.append(.init(id: stem, values: [], destinations: [nil]))
            for _ in 0..<3 {
                request.insertions.append(.init(id: ObjectID(temporaryFor: "Leaf"), values: [], destinations: [stem]))
            }
        }
        let ids = try store.save(request).inserted.map(\.id)

        request = SaveRequest()
        request.deletions = [ids[1], ids[2]].map { .init(id: $0, expectedVersion: 1) }
        let result = try store.save(request)

        #expect(Set(result.deleted) == Set(ids[...2]) && Set(result.changed) == [ids[3]])
        #expect(try count("Stem", in: store) == 1 && count("Leaf", in: store) == 4)
        if let tree = store as? BTreeStore { #expect(try tree.check().isOK) }
    }

    @Test func `rows are deleted by a set that holds a bit for each`() {
        var rows = RowSet()
        let ids = (1...1000).map { ObjectID(storeTag: 1, entityTag: UInt32($0 % 3), key: UInt64($0 * $0)) }
        for id in ids.shuffled() {
            let isNew = [rows.insert(id), rows.insert(id)]
            #expect(isNew == [true, false])
        }

        for id in ids[..<500] { rows.remove(id) }

        #expect(rows.count == 500 && Set(rows) == Set(ids[500...]))
        #expect(Array(rows) == ids[500...].sorted { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) })
        #expect(ids.allSatisfy { rows.contains($0) == ($0.key > 250_000) })
    }
}
