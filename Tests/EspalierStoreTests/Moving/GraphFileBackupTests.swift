// The backup of a binary file's migration: it stays beside a file that was replaced and beside no other, and one that a
// killed migration has left does not stop the next one.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct GraphFileBackupTests {
    private static let backup = "/backup"

    private static func model(_ attributes: String...) throws -> ManagedObjectModel {
        let note = EntityDescription("Note", attributes: attributes.map { AttributeDescription($0, .string) })
        return try ManagedObjectModel(entities: [note])
    }

    private static func open(
        _ files: any FileSystem, _ model: ManagedObjectModel, _ migration: MigrationOptions = .automatic
    ) throws -> WholeGraphStore {
        try WholeGraphStore.openBinary(
            StoreOpening(.binary, model: model, path: "/notes", migration: migration), in: files)
    }

    /// A file of a note with a text; returns its bytes.
    private static func makeStore(_ files: any FileSystem) throws -> [UInt8] {
        let store = try open(files, model("text"))
        var request = SaveRequest()
        request.insertions = [
            .init(id: ObjectID(temporaryFor: "Note"), values: [.string("a text")], destinations: [])
        ]
        _ = try store.save(request)
        try store.close()
        return try GraphFile.bytes(ofFileAt: "/notes", in: files)
    }

    private static func exists(_ path: String, _ files: any FileSystem) throws -> Bool {
        try files.entry(at: path).identity(role: .copy) != nil
    }

    @Test func `a migration of a binary file copies its bytes to the backup before it replaces them`() throws {
        let files = SimulatedFileSystem(seed: 1)
        let bytes = try Self.makeStore(files)
        let options = MigrationOptions(backupPath: Self.backup)
        try Self.open(files, Self.model("text"), options).close()
        #expect(try !Self.exists(Self.backup, files), "without a migration there is no backup")

        try Self.open(files, Self.model("text", "author"), options).close()

        #expect(try GraphFile.bytes(ofFileAt: Self.backup, in: files) == bytes)
        #expect(try GraphFile.bytes(ofFileAt: "/notes", in: files) != bytes)
    }

    @Test func `a migration of a binary file that is refused or cancelled leaves no backup`() throws {
        let files = SimulatedFileSystem(seed: 1)
        let bytes = try Self.makeStore(files)
        let progress = MigrationProgress()
        progress.cancel()
        let failing = [
            (try Self.model("author"), MigrationOptions(backupPath: Self.backup)),
            (try Self.model("text", "author"), MigrationOptions(backupPath: Self.backup, progress: progress)),
        ]
        for (model, options) in failing {
            #expect(throws: StoreError.self) { try Self.open(files, model, options).close() }

            #expect(try !Self.exists(Self.backup, files))
            #expect(try GraphFile.bytes(ofFileAt: "/notes", in: files) == bytes)
        }
    }

    @Test func `a backup of a binary file that was there already is used, and stays after a refusal`() throws {
        let files = SimulatedFileSystem(seed: 1)
        let bytes = try Self.makeStore(files)
        files.replaceContents(of: Self.backup, with: bytes)
        let options = MigrationOptions(backupPath: Self.backup)
        #expect(throws: StoreError.self) { try Self.open(files, Self.model("author"), options).close() }
        #expect(try GraphFile.bytes(ofFileAt: Self.backup, in: files) == bytes)

        try Self.open(files, Self.model("text", "author"), options).close()

        #expect(try GraphFile.bytes(ofFileAt: Self.backup, in: files) == bytes)
    }

    @Test(arguments: ["/backup", "/notes"])
    func `the file itself and any other file is no place for its backup, and stays`(path: String) throws {
        let files = SimulatedFileSystem(seed: 1)
        let bytes = try Self.makeStore(files)
        // The backup of an earlier state is another file.
        let other = Array(bytes.dropLast())
        files.replaceContents(of: "/backup", with: other)

        let error = #expect(throws: StoreError.self) {
            try Self.open(files, Self.model("text", "author"), MigrationOptions(backupPath: path)).close()
        }

        if case .storage(.maintenance(.destinationExists), path)? = error {} else { Issue.record("\(error as Any)") }
        #expect(try GraphFile.bytes(ofFileAt: "/backup", in: files) == other)
        #expect(try GraphFile.bytes(ofFileAt: "/notes", in: files) == bytes)
    }

    @Test func `a binary file that cannot be replaced leaves no backup`() throws {
        let seed = testSeed(default: 8100)
        print("ESPALIER_SEED=\(seed)")
        let original = SimulatedFileSystem(seed: seed)
        let bytes = try Self.makeStore(original)
        let newer = try Self.model("text", "author")
        var (distance, failures) = (1, 0)
        while true {
            let system = original.afterKill()
            let start = system.operationCount
            system.arm(SimulatedFault(operation: start + distance, kind: .inputOutput))
            let isOpen = (try? Self.open(system, newer, MigrationOptions(backupPath: Self.backup)).close()) != nil
            guard system.operationCount >= start + distance else { break }
            system.arm(nil)

            let isOld = try GraphFile.bytes(ofFileAt: "/notes", in: system) == bytes
            let isBackedUp = try Self.exists(Self.backup, system)
            #expect(isOld != isBackedUp, "seed \(seed), call \(distance)")
            if isBackedUp { #expect(try GraphFile.bytes(ofFileAt: Self.backup, in: system) == bytes) }
            if !isOpen { failures += 1 }
            distance += 1
        }

        #expect(failures > 5, "seed \(seed)")
    }
}
