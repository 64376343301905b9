// The number of times that opening a binary file reads it.

import EspalierEngine
import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

/// Files in memory, which counts how often one is opened as a store.
private final class CountedFileSystem: FileSystem {
    private let base = MemoryFileSystem()
    private let count = Mutex(0)

    /// The number since the last call.
    func takeCount() -> Int {
        count.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        try WrappedDirectory.entry(
            at: path, of: base,
            willOpen: { [unowned self] role in
                if role == .store { self.count.withLock { $0 += 1 } }
            },
            opened: { _, file in file })
    }

    func now() -> UInt64 { base.now() }
    func random() -> UInt64 { base.random() }
}

@Suite struct BinaryOpeningTests {
    private func model(_ attributes: String...) throws -> ManagedObjectModel {
        let note = EntityDescription("Note", attributes: attributes.map { AttributeDescription($0, .string) })
        return try ManagedObjectModel(entities: [note])
    }

    @Test func `a binary file is read once when it is opened, and once more after a migration`() throws {
        let files = CountedFileSystem()
        let (older, newer) = (try model("text"), try model("text", "author"))
        func open(
            _ model: ManagedObjectModel, isReadOnly: Bool = false, _ migration: MigrationOptions = .automatic
        ) throws -> Int {
            let opening = StoreOpening(
                .binary, model: model, path: "/notes", isReadOnly: isReadOnly, migration: migration)
            let store = try WholeGraphStore.openBinary(opening, in: files)
            #expect(try store.metadata() == ["number": .integer(7)])
            try store.close()
            return files.takeCount()
        }
        let first = try WholeGraphStore.openBinary(
            StoreOpening(.binary, model: older, path: "/notes"), in: files)
        try first.setMetadata(["number": .integer(7)])
        try first.close()
        #expect(files.takeCount() == 1)

        #expect(try open(older) == 1)
        #expect(try open(older, isReadOnly: true) == 1)
        #expect(try open(older, .off) == 1)
        #expect(try open(newer) == 2)
        #expect(try open(newer, .off) == 1)
    }

    @Test func `a binary file that is migrated on opening can be saved and opened again`() throws {
        let files = MemoryFileSystem()
        func open(_ model: ManagedObjectModel) throws -> WholeGraphStore {
            try WholeGraphStore.openBinary(StoreOpening(.binary, model: model, path: "/notes"), in: files)
        }
        let first = try open(model("text"))
        let identifier = first.identifier
        try first.close()

        let newer = try model("text", "author")
        let migrated = try open(newer)
        try migrated.setMetadata(["number": .integer(7)])
        try migrated.close()

        let again = try open(newer)
        #expect(try again.metadata() == ["number": .integer(7)] && again.identifier == identifier)
        try again.close()
    }
}
