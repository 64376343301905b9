// Options of B-tree files by key: taken, refused by name, and a file that another process writes, for which an opening
// waits.

import Dispatch
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreOptionTests {
    private func open(
        _ path: String, _ options: [StoreOption: AttributeValue]
    ) throws -> any PersistentStore {
        try StoreType.open(StoreOpening(.btree, model: try MediaModel.make(), path: path, options: options))
    }

    @Test func `a store that is written elsewhere is waited for as long as its timeout says (PS-18, PS-26)`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            try open(path, [:]).close()
            // The lock of another process: this one has opened the file by other means than the engine's.
            let file = try PosixFileSystem.shared.open(path, role: .store, mode: .readWrite)
            try file.lockForWriting()

            for options: [StoreOption: AttributeValue] in [[:], [.timeout: .double(0.05)]] {
                let error = #expect(throws: StoreError.self) { try open(path, options) }
                guard case .storage(.opening(.storeBusy), _)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { try? file.close() }
            try open(path, [.timeout: .integer(60)]).close()
        }
    }

    @Test func `options are taken by key, and refused by key with a reason (PS-18, PS-27)`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            let store = try open(path, [.pageSize: .integer(8192), .cacheByteCount: .integer(1 << 20)])
            try store.close()
            let database = try Database.open(path)
            #expect(database.pageSize == 8192)
            try database.close()

            let wrong: [(StoreOption, AttributeValue)] = [
                ("colour", .integer(1)), (.timeout, .integer(-1)), (.timeout, .string("1")), (.timeout, .double(.nan)),
                (.timeout, .double(.infinity)), (.pageSize, .double(4096.5)), (.cacheByteCount, .double(1e300)),
            ]
            for (key, value) in wrong {
                let error = #expect(throws: StoreError.self) { try open(path, [key: value]) }
                guard case .invalidOption(key.rawValue, "BTree", let reason)? = error else {
                    Issue.record("\(key) \(value): \(String(describing: error))")
                    continue
                }
                #expect(!reason.isEmpty)
            }
            #expect(throws: StoreError.self) { try open(path + "2", [.pageSize: .integer(1000)]) }
            #expect(!FileManager.default.fileExists(atPath: path + "2"))
        }
    }

    @Test func `a kind that opens a store with another model breaks the contract`() throws {
        let type = StoreType(rawValue: "Other model")
        type.register { _ in InMemoryStore(model: try MediaModel.make()) }
        let error = #expect(throws: StoreError.self) {
            try StoreType.open(StoreOpening(type, model: try MediaModel.make()))
        }
        if case .brokenContract(nil, "Other model", _)? = error {} else { Issue.record("\(String(describing: error))") }
        #expect(StoreType.registered.contains(type) && StoreType.registered.contains(.binary))
    }
}
