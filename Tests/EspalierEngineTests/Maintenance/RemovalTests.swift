// Removing stores: what is removed, and what is refused.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct RemovalTests {
    @Test func `a closed store, a damaged one and one that was not closed are removed with their logs`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "größe.store").path
            try make(path)
            try Database.remove(at: path)
            #expect(try names(in: folder) == [])

            try make(path)
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.seek(toOffset: 4096)
            try file.write(contentsOf: Data(repeating: 255, count: 4096))
            try file.close()
            try Data(repeating: 1, count: 100).write(to: URL(filePath: path + "-wal"))
            try Database.remove(at: path)
            #expect(try names(in: folder) == [])
        }
    }

    @Test func `an open store, a missing one, a folder and a file that is no store stay as they are`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            let database = try Database.open(path)
            #expect(throws: StorageError.opening(.storeBusy(pid: ProcessInfo.processInfo.processIdentifier))) {
                try Database.remove(at: path)
            }
            try database.close()

            let text = folder.appending(path: "text")
            try Data(repeating: 65, count: 9000).write(to: text)
            for other in ["text", "missing", "."] {
                #expect(throws: StorageError.self, "\(other)") {
                    try Database.remove(at: folder.appending(path: other).path)
                }
            }
            try FileManager.default.linkItem(atPath: path, toPath: folder.appending(path: "link").path)
            #expect(throws: StorageError.path(.hardLinked)) { try Database.remove(at: path) }
            #expect(try names(in: folder) == ["link", "store", "text"])
        }
    }

    @Test func `a reader of a removed store reads its transaction to the end, and the name is free for another one`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            try make(path)
            var options = DatabaseOptions()
            options.access = .readOnly
            let reader = try Database.open(path, options: options)
            #expect(try value(in: reader) { try Database.remove(at: path) } == [1])
            let next = try Database.open(path)
            #expect(try value(in: next) {} == nil)
            try next.close()
            try reader.close()
        }
    }

    /// The value of the first key, read after `body`, in a transaction that has begun before.
    private func value(in database: Database, after body: () throws -> Void) throws -> [UInt8]? {
        let read = try database.beginRead()
        let tree = try read.tree(named: "t", keys: UInt64.self)
        try body()
        return try tree.flatMap { try read.get(1, from: $0) }
    }

    private func make(_ path: String) throws {
        let database = try Database.open(path)
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()
        try database.close()
    }

    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }
}
