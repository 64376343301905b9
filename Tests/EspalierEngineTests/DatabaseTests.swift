// The public face of the engine: what an application does with a store, on real files.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct DatabaseTests {
    @Test func `what was committed is there after reopening`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "songs", kind: .bytes)
            for number in 0..<2000 {
                try write.put([UInt8]("value \(number)".utf8), for: bytes("key \(number)"), in: tree)
            }
            try write.commit()
            try database.close()

            let reopened = try Database.open(path)
            let read = try reopened.beginRead()
            let found = try #require(try read.tree(named: "songs"))

            #expect(found == tree)
            #expect(try read.count(of: found) == 2000)
            #expect(try read.get(bytes("key 1234"), from: found) == bytes("value 1234"))
            #expect(try read.get(bytes("nothing"), from: found) == nil)
        }
    }
}
