// Renames of trees: entries, cursors, savepoints, snapshots, and the reasons for which a name is refused.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeRenameTests {
    private func filled(
        _ write: inout WriteTransaction, _ name: String, _ count: UInt64 = 2000
    ) throws -> Tree<UInt64> {
        let tree = try write.createTree(named: name, keys: UInt64.self)
        for key in 0..<count { try write.put(bytes("\(name) \(key)"), for: key, in: tree) }
        return tree
    }

    @Test func `a tree that is renamed keeps its entries, and its pages say the new name`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: .small)
            var write = try database.beginWrite()
            let tree = try filled(&write, "old")
            try write.commit()
            do {
                let before = try database.beginRead()

                write = try database.beginWrite()
                let renamed = try write.renameTree(.integers(tree), to: "new")
                let typed = try #require(renamed.tree(keys: UInt64.self))
                #expect(typed.name == "new" && typed.id == tree.id)
                try write.put(bytes("more"), for: 5000, in: typed)
                #expect(throws: StorageError.argument(.noSuchTree(tree.id))) { try write.get(7, from: tree) }
                try write.commit()

                #expect(try before.get(7, from: tree) == bytes("old 7"))
                let after = try database.beginRead()
                #expect(try after.tree(named: "old") == nil && after.count(of: typed) == 2001)
                #expect(try after.get(7, from: typed) == bytes("old 7"))
                #expect(try after.get(5000, from: typed) == bytes("more"))
            }
            #expect(try database.check().isOK)
            try database.close()
            let again = try Database.open(path, options: .small)
            #expect(try again.beginRead().tree(named: "new", keys: UInt64.self)?.id == tree.id)
            #expect(try again.check().isOK)
            try again.close()
        }
    }

    @Test func `trees exchange their names by way of a third`() throws {
        let database = try Database.inMemory(options: .small)
        var write = try database.beginWrite()
        let (first, second) = (try filled(&write, "a", 10), try filled(&write, "b", 10))

        let aside = try write.renameTree(.integers(first), to: "c")
        _ = try write.renameTree(.integers(second), to: "a")
        _ = try write.renameTree(aside, to: "b")

        let found = try #require(try write.tree(named: "b", keys: UInt64.self))
        #expect(try write.get(3, from: found) == bytes("a 3"))
        try write.commit()
        #expect(try database.check().isOK)
    }

    @Test func `a name that is taken, empty or too long is refused, and nothing changes`() throws {
        let database = try Database.inMemory(options: .small)
        var write = try database.beginWrite()
        let (first, second) = (try filled(&write, "a", 10), try filled(&write, "b", 10))

        for name in ["b", "", String(repeating: "x", count: 5000)] {
            #expect(throws: StorageError.self) { try write.renameTree(.integers(first), to: name) }
        }

        #expect(try write.get(3, from: first) == bytes("a 3") && write.get(3, from: second) == bytes("b 3"))
        try write.commit()
        #expect(try database.check().isOK)
    }

    @Test func `a renaming that is rolled back has not happened`() throws {
        let database = try Database.inMemory(options: .small)
        var write = try database.beginWrite()
        let tree = try filled(&write, "a", 10)
        let savepoint = try write.savepoint()
        _ = try write.renameTree(.integers(tree), to: "b")

        try write.rollback(to: savepoint)

        #expect(try write.get(3, from: tree) == bytes("a 3") && write.tree(named: "b") == nil)
        try write.commit()
        #expect(try database.check().isOK)
    }
}
