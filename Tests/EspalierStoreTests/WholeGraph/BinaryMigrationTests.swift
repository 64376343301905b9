// Binary files that are opened with another model, against B-tree files with the same content.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BinaryMigrationTests {
    /// A binary file with the content of the library, beside the B-tree file at `path`.
    private func makeFiles(at path: String) throws -> String {
        try MigrationLibrary.makeStore(at: path)
        let model = try MigrationLibrary.model { _ in }
        let tree = try BTreeStore.open(path: path, model: model)
        let binary = try StoreType.open(StoreOpening(.binary, model: model, path: path + ".bin"))
        try tree.copy(to: binary)
        try binary.setMetadata(["answer": .integer(42)])
        try binary.close()
        try tree.close()
        return path + ".bin"
    }

    /// A new name, another type, a common superentity, a default and a derived attribute.
    private func change(_ entities: inout [EntityDescription]) {
        (entities[0].attributes[1].name, entities[0].attributes[1].renamingIdentifier) = ("fullName", "name")
        entities[0].attributes.append(
            AttributeDescription("albumCount", .integer64, derivation: .count(of: "albums")))
        entities[1].attributes[2].type = .string
        entities[1].attributes.append(AttributeDescription("format", .string, defaultValue: .string("CD")))
        entities.append(EntityDescription("Item", isAbstract: true))
        (entities[2].superentity, entities[3].superentity) = ("Item", "Item")
    }

    private func open(
        _ path: String, _ model: ManagedObjectModel, _ migration: MigrationOptions = .automatic,
        isReadOnly: Bool = false
    ) throws -> any PersistentStore {
        try StoreType.open(
            StoreOpening(.binary, model: model, path: path, isReadOnly: isReadOnly, migration: migration))
    }

    @Test func `a binary file is migrated as a B-tree file is`() throws {
        try withStorePath { path in
            let file = try makeFiles(at: path)
            let older = try open(file, MigrationLibrary.model { _ in })
            let artist = try #require(older.model.entity(named: "Artist"))
            let given = try #require(try older.reserveIDs(for: artist, count: 1).first)
            let identifier = older.identifier
            try older.close()
            let newer = try MigrationLibrary.model(change)
            let progress = MigrationProgress()

            let store = try open(file, newer, MigrationOptions(progress: progress))

            let tree = try BTreeStore.open(path: path, model: newer)
            #expect(try GraphDump(store) == GraphDump(tree))
            try tree.close()
            #expect(try store.metadata() == ["answer": .integer(42)] && store.identifier == identifier)
            #expect(progress.fractionCompleted == 1)
            let successor = try #require(newer.entity(named: "Artist"))
            let next = try #require(try store.reserveIDs(for: successor, count: 1).first)
            #expect(next.key > given.key, "a key that was given out is not given out again")
            let dump = try GraphDump(store)
            try store.close()
            let again = try open(file, newer, .off)
            #expect(try GraphDump(again) == dump)
            try again.close()
        }
    }

    @Test func `what a migration of a binary file would lose is refused, and the file stays as it was`() throws {
        try withStorePath { path in
            let file = try makeFiles(at: path)
            let bytes = try Data(contentsOf: URL(filePath: file))
            let newer = try MigrationLibrary.model { $0[3].attributes.removeLast() }

            let error = #expect(throws: StoreError.self) { try open(file, newer) }
            guard case .migrationRefused(file, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.losses == [.removal(of: "Note.text")])
            for isReadOnly in [false, true] {
                let other = #expect(throws: StoreError.self) {
                    try open(file, newer, isReadOnly ? .automatic : .off, isReadOnly: isReadOnly)
                }
                guard case .incompatibleModel(_, let reason)? = other else {
                    Issue.record("\(String(describing: other))")
                    continue
                }
                #expect(reason.contains("attribute text") && reason.contains("options that allow its migration"))
            }
            #expect(try Data(contentsOf: URL(filePath: file)) == bytes)

            let store = try open(file, newer, MigrationOptions(allowing: [.removal(of: "Note.text")]))
            #expect(try GraphDump(store).rows(of: "Note").count == 4)
            try store.close()
        }
    }

    @Test(arguments: [false, true])
    func `rows without a value that is required now are refused or filled on opening, as the plan says (PS-26)`(
        hasDefault: Bool
    ) throws {
        try withStorePath { path in
            let file = try makeFiles(at: path)
            let older = try open(file, MigrationLibrary.model { _ in })
            let note = try #require(older.model.entity(named: "Note"))
            var request = SaveRequest()
            request.insertions = [
                .init(
                    id: ObjectID(temporaryFor: note),
                    values: note.attributes.map { $0.name == "serial" ? .integer(45) : .null }, destinations: [])
            ]
            let id = try #require(try older.save(request).inserted.first?.id)
            try older.close()
            let bytes = try Data(contentsOf: URL(filePath: file))
            let newer = try MigrationLibrary.model { entities in
                entities[3].attributes[1].isOptional = false
                if hasDefault { entities[3].attributes[1].defaultValue = .string("none") }
            }
            let opening = StoreOpening(.binary, model: newer, path: file)
            let plan = try #require(try StoreType.migrationPlan(opening, checkingRows: true))

            guard !hasDefault else {
                #expect(plan.refusal == nil && plan.outcome != nil)
                let store = try open(file, newer)
                #expect(try GraphDump(store).value(45, "text") == .string("none"))
                try store.close()
                return
            }
            let error = #expect(throws: StoreError.self) { try open(file, newer).close() }
            guard case .migrationRefused(file, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == plan.refusal)
            #expect(refusal.failures.map(\.subject) == ["Note.text"] && refusal.failures.first?.objects == [id])
            #expect(try Data(contentsOf: URL(filePath: file)) == bytes)
        }
    }
}
