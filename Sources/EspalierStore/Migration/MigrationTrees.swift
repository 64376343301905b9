// The trees of a store during a migration: which of them are kept, under which name, and which are only read and then
// dropped.
//
// Invariants
//   1. Trees get their new names after no tree has a name of the older model any more, because names may be exchanged.

internal import EspalierEngine
internal import EspalierModel

/// Names and handles of the trees of a migration.
struct MigrationTrees {
    private struct Move {
        let tree: AnyTree
        let name: String?
    }

    private var moves: [Move] = []
    /// Handles by tree number, which does not change.
    private var handles: [UInt32: AnyTree] = [:]
    /// Trees that are dropped at the end.
    private var leaving: [UInt32] = []
    private var temporaryCount = 0

    /// Notes a tree and its name in the newer model; `nil` if the tree is dropped.
    mutating func add(_ tree: AnyTree, name: String?) {
        assert(handles.isEmpty, "trees are added after they were renamed")
        moves.append(Move(tree: tree, name: name))
        if name == nil { leaving.append(tree.id) }
    }

    /// Renames all trees.
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
            // A tree of this name that no model asked for is foreign: drop it.
            if let stray = try transaction.tree(named: name) { try transaction.dropTree(stray) }
            handles[tree.id] = try transaction.renameTree(tree, to: name)
        }
        assert(moves.allSatisfy { handles[$0.tree.id] != nil }, "a tree has no handle")
        assert(Set(handles.values.map(\.name)).count == handles.count, "invariant 1: two trees have one name")
        moves = []
    }

    /// The present handle of a tree.
    func current<Key>(_ tree: Tree<Key>) throws(StoreError) -> Tree<Key> {
        guard let handle = handles[tree.id] else { return tree }
        guard let typed = handle.tree(keys: Key.self) else {
            throw .damaged(reason: "tree \"\(handle.name)\" has keys of the wrong kind")
        }
        return typed
    }

    /// Creates a tree that is dropped at the end.
    mutating func makeTemporary(
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> Tree<[UInt8]> {
        let tree = try transaction.createTree(named: try temporaryName(in: transaction), keys: [UInt8].self)
        handles[tree.id] = .bytes(tree)
        leaving.append(tree.id)
        return tree
    }

    /// Drops the trees that are not kept, with their counters.
    mutating func dropLeaving(
        counters: Tree<UInt64>, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(moves.isEmpty, "\(moves.count) trees are dropped before they are renamed")
        assert(leaving.allSatisfy { handles[$0] != nil }, "a tree that is to be dropped has no handle")
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
