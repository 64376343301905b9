// The trees a transaction has looked up: from a handle to the catalog's record, without a descent for each operation.
// A writer takes over what the one before it looked up and left in the catalog.
//
// Invariants
//   1. A record is the one of this transaction's snapshot, with the changes of this transaction.
//   2. `stored` is what the catalog says; records that differ are written to the catalog before a commit.

/// The trees a transaction knows.
struct TreeTable {
    /// A tree that was looked up.
    struct Known {
        let tree: Tree
        var record: TreeRecord
        var stored: TreeRecord
    }

    private(set) var known: [Known] = []
    private var numbers: [UInt32: Int] = [:]
    private var last = 0

    /// The place of `tree`, if it was looked up before.
    @inline(__always)
    mutating func find(_ tree: Tree) -> Int? {
        if last < known.count, known[last].tree.id == tree.id { return last }
        guard let number = numbers[tree.id] else { return nil }
        last = number
        return number
    }

    /// The place of `tree`, looked up in the catalog if need be.
    ///
    /// - Throws: `noSuchTree`, or what reading throws.
    @inline(__always)
    mutating func number<Source: PageSource>(of tree: Tree, in source: Source) throws(StorageError) -> Int {
        if let number = find(tree) { return number }
        return try lookUp(tree, in: source)
    }

    @inline(never)
    private mutating func lookUp<Source: PageSource>(_ tree: Tree, in source: Source) throws(StorageError) -> Int {
        guard let record = try Catalog(source).find(tree.name), record.treeID == tree.id else {
            throw .noSuchTree(tree.id)
        }
        return add(Tree(name: tree.name, id: record.treeID, kind: record.kind), record)
    }

    /// Takes a tree in that is in the catalog as `record` says.
    @discardableResult
    mutating func add(_ tree: Tree, _ record: TreeRecord) -> Int {
        if let number = numbers[tree.id] { return number }
        known.append(Known(tree: tree, record: record, stored: record))
        numbers[tree.id] = known.count - 1
        return known.count - 1
    }

    /// The record at a place.
    subscript(number: Int) -> TreeRecord {
        @inline(__always) get { known[number].record }
        @inline(__always) _modify { yield &known[number].record }
    }

    /// Takes note that a tree's root moved, which the catalog knows already.
    mutating func move(_ id: UInt32, to root: PageNumber) {
        guard let number = numbers[id] else { return }
        known[number].record.root = root
        known[number].stored.root = root
    }

    /// Forgets which leaves were written to last: pages moved.
    mutating func forgetHints() { for number in known.indices { known[number].record.hint = InsertHint() } }

    /// Forgets a tree that was dropped.
    mutating func remove(_ tree: Tree) {
        known.removeAll { $0.tree.id == tree.id }
        numbers.removeAll()
        for (number, entry) in known.enumerated() { numbers[entry.tree.id] = number }
        last = 0
    }

    /// Writes what changed to the catalog.
    mutating func store(in pages: WritePages) throws(StorageError) {
        for number in known.indices where !known[number].record.isSame(as: known[number].stored) {
            try Catalog(pages).store(known[number].record, as: known[number].tree.name)
            known[number].stored = known[number].record
        }
    }
}

/// What reading needs of a transaction's pages, whichever kind it is.
protocol TransactionSource: AnyObject, PageSource {
    var trees: TreeTable { get set }
    func checkUsable() throws(StorageError)
}

extension ReadPages: TransactionSource {}
extension WritePages: TransactionSource {}

extension TransactionSource {
    /// The record of `tree`, whose keys must be of `kind`.
    @inline(__always)
    func record(of tree: Tree, _ kind: KeyKind) throws(StorageError) -> TreeRecord {
        try checkUsable()
        let record = trees[try trees.number(of: tree, in: self)]
        guard record.kind == kind else { throw .wrongKeyKind(tree: tree.id) }
        return record
    }

    /// The tree called `name`, or `nil`.
    func tree(named name: String) throws(StorageError) -> Tree? {
        try checkUsable()
        guard !name.isEmpty, let record = try Catalog(self).find(name) else { return nil }
        let tree = Tree(name: name, id: record.treeID, kind: record.kind)
        trees.add(tree, record)
        return tree
    }

    /// All trees, in the order of their names' bytes.
    func listTrees() throws(StorageError) -> [TreeSummary] {
        try checkUsable()
        return try Catalog(self).list().map { TreeSummary($0.record, name: $0.name) }
    }

    func count(of tree: Tree) throws(StorageError) -> UInt64 {
        try checkUsable()
        return trees[try trees.number(of: tree, in: self)].entryCount
    }

    @inline(__always)
    func value(of key: UInt64, in tree: Tree) throws(StorageError) -> [UInt8]? {
        try BTree(self).value(of: TreeKey(key), in: try record(of: tree, .integer))
    }

    @inline(__always)
    func value(of key: RawSpan, in tree: Tree) throws(StorageError) -> [UInt8]? {
        let record = try record(of: tree, .bytes)
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try BTree(self).value(of: TreeKey(unsafe ByteString(bytes)), in: record)
        }
    }

    @inline(__always)
    func withValue<R>(of key: UInt64, in tree: Tree, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        try BTree(self).withValue(of: TreeKey(key), in: try record(of: tree, .integer), body)
    }

    @inline(__always)
    func withValue<R>(of key: RawSpan, in tree: Tree, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        let record = try record(of: tree, .bytes)
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try BTree(self).withValue(of: TreeKey(unsafe ByteString(bytes)), in: record, body)
        }
    }
}

extension ReadPages {
    func forEachPart(
        ofValueOf key: UInt64, in tree: Tree, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        try BTree(self).forEachPart(ofValueOf: TreeKey(key), in: try record(of: tree, .integer), body)
    }

    func forEachPart(
        ofValueOf key: RawSpan, in tree: Tree, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        let record = try record(of: tree, .bytes)
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try BTree(self).forEachPart(ofValueOf: TreeKey(unsafe ByteString(bytes)), in: record, body)
        }
    }
}

extension TreeSummary {
    /// What the catalog says about the tree called `name`.
    init(_ record: TreeRecord, name: String) {
        self.init(
            tree: Tree(name: name, id: record.treeID, kind: record.kind), entryCount: record.entryCount,
            height: record.height, leafPageCount: record.leafPageCount, root: record.root)
    }
}
