// Files that are used without a store: their metadata, and their removal, by kind.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreFilesTests {
    /// The kinds with files of which this module knows the format.
    private static let kinds: [StoreType] = [.btree, .binary]

    /// Makes a closed store of a kind with one value in its metadata; returns its UUID.
    private func make(_ kind: StoreType, at path: String, _ model: ManagedObjectModel) throws -> UUID {
        let store = try StoreType.open(StoreOpening(kind, model: model, path: path))
        try store.setMetadata(["größe": .string("viel")])
        try store.close()
        return store.identifier
    }

    @Test(arguments: kinds)
    func `a file of each kind tells its UUID, its model and the application's values (PS-05)`(kind: StoreType) throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            let model = try MediaModel.make()
            let identifier = try make(kind, at: path, model)
            let before = try Data(contentsOf: URL(filePath: path))

            let metadata = try StoreType.metadata(ofFileAt: path)

            #expect(metadata.identifier == identifier && metadata.values == ["größe": .string("viel")])
            #expect(metadata.model?.entities.map(\.name) == model.entities.map(\.name))
            #expect(metadata.isCompatible(with: model))
            let other = try ManagedObjectModel(entities: [EntityDescription("Other")])
            #expect(!metadata.isCompatible(with: other))
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }
    }

    @Test(arguments: kinds)
    func `a file is removed as a store of its kind, damaged or not, and not as one of another kind (PS-03)`(
        kind: StoreType
    ) throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            for isDamaged in [false, true] {
                _ = try make(kind, at: path, try MediaModel.make())
                if isDamaged {
                    var bytes = try Data(contentsOf: URL(filePath: path))
                    bytes[bytes.count - 1] ^= 1
                    try bytes.write(to: URL(filePath: path))
                }
                for other in Self.kinds where other != kind {
                    #expect(throws: StoreError.self) { try other.removeFile(at: path) }
                }
                #expect(FileManager.default.fileExists(atPath: path))

                try kind.removeFile(at: path)

                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            }
            let calls: [() throws -> Void] = [
                { try kind.removeFile(at: path) }, { _ = try StoreType.metadata(ofFileAt: path) },
            ]
            for call in calls {
                let error = #expect(throws: StoreError.self) { try call() }
                #expect(error?.isMissingFile == true)
            }
        }
    }

    @Test func `a file that is no store stays, and a kind of the application's own is not removed`() throws {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "letter.txt")
            for text in ["", "ESPGRAP", "a letter"] {
                try Data(text.utf8).write(to: file)
                for kind in Self.kinds {
                    #expect(throws: StoreError.self) { try kind.removeFile(at: file.path) }
                }
                #expect(throws: StoreError.self) { try StoreType.metadata(ofFileAt: file.path) }
            }
            let own = StoreType(rawValue: "Files of nobody")
            own.register { InMemoryStore(model: $0.model) }
            let error = #expect(throws: StoreError.self) { try own.removeFile(at: file.path) }
            guard case .unknownStoreType(own)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(!own.isRemovable && Self.kinds.allSatisfy(\.isRemovable) && StoreType.inMemory.isRemovable)
            #expect(try Data(contentsOf: file) == Data("a letter".utf8))
        }
    }

    @Test func `a store whose file was removed under it cannot save any more`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            let store = try StoreType.open(StoreOpening(.binary, model: try MediaModel.make(), path: path))

            try StoreType.binary.removeFile(at: path)

            #expect(throws: StoreError.self) { try store.setMetadata(["a": .integer(1)]) }
            #expect(try store.metadata().isEmpty && !FileManager.default.fileExists(atPath: path))
        }
    }
}
