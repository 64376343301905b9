// The trees of a store on their way from one model to another: which keep their entries, under which name, and which
// only serve to be read and go in the end.
//
// Invariants
//   1. Trees get their new names when none has a name of the older model any more: names may be exchanged.

internal import EspalierEngine
internal import EspalierModel

/// Names and handles of the trees of a migration.
struct MigrationTrees {
    private struct Move {
        let tree: AnyTree
        let name: String?
    }

    private var moves: [Move] = []
    /// Handles by the number of the tree, which stays.
    private var handles: [UInt32: AnyTree] = [:]
    /// Trees that go in the end.
    private var leaving: [UInt32] = []
    private var temporaryCount = 0

    /// Notes what becomes of a tree: its name in the newer model, or `nil` if it goes.
    mutating func add(_ tree: AnyTree, name: String?) {
        moves.append(Move(tree: tree, name: name))
        if name == nil { leaving.append(tree.id) }
    }

    /// Gives all trees their names.
    mutating func rename(in transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        for move in moves {
            var tree = move.tree
            if move.name != tree.name {
                tree = try transaction.renameTree(tree, to: try temporaryName(in: transaction))
            }
            handles[tree.id] = tree
        }
        for move in moves {
            guard let name = move.name, let tree = handles[move.tree.id], tree.name != name else { continue }
            // A tree of this name that no model asked for is none of ours.
            if let stray = try transaction.tree(named: name) { try transaction.dropTree(stray) }
            handles[tree.id] = try transaction.renameTree(tree, to: name)
        }
        moves = []
    }

    /// The handle that a tree has now.
    func current<Key>(_ tree: Tree<Key>) throws(StoreError) -> Tree<Key> {
        guard let handle = handles[tree.id] else { return tree }
        guard let typed = handle.tree(keys: Key.self) else {
            throw .damaged(reason: "tree \"\(handle.name)\" has other keys")
        }
        return typed
    }

    /// Makes a tree that goes in the end.
    mutating func makeTemporary(
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> Tree<[UInt8]> {
        let tree = try transaction.createTree(named: try temporaryName(in: transaction), keys: [UInt8].self)
        handles[tree.id] = .bytes(tree)
        leaving.append(tree.id)
        return tree
    }

    /// Drops the trees that go, with their counters.
    mutating func dropLeaving(
        counters: Tree<UInt64>, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        for id in leaving {
            guard let tree = handles[id] else { continue }
            try transaction.remove(Counter.cutEntries(id), from: counters)
            try transaction.dropTree(tree)
        }
        leaving = []
    }

    private mutating func temporaryName(
        in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> String {
        while true {
            temporaryCount += 1
            let name = "migration:\(temporaryCount)"
            if try transaction.tree(named: name) == nil { return name }
        }
    }
}
