// The second reading of the trees that a comparison of sums found different: lists the things that differ one by one.
// Only things in buckets that differ are kept.
//
// Invariants
//   1. At most `itemCountMax` things are kept. Where a comparison has more, the report says only that the trees differ.

/// A comparison of two sides: a group with its rows, a list with rows, or a list with the list of its inverse.
struct Comparison {
    let id: ComparisonID
    /// The names of the trees on both sides, without the trees of rows.
    let trees: [String]
    /// The roots of the hierarchies whose rows are one side.
    let roots: [Int]
    /// A phrase for the list of comparisons that the audit left out.
    let title: String

    init(_ id: ComparisonID, _ schema: ObjectSchema) {
        self.id = id
        func root(_ entity: Int) -> Int { schema.model.entities[entity].root }
        switch id {
        case .group(let index):
            let group = schema.groups[index]
            (trees, roots, title) = ([group.tree], [root(group.entity)], "\(group.tree) with rows")
        case .list(let index):
            let list = schema.lists[index]
            if list.isDerived {
                (trees, roots) = ([list.tree], [root(list.relationship.destination)])
                title = "\(list.tree) with rows"
            } else {
                let other = schema.inverseLists[index].map { schema.lists[$0].tree }
                (trees, roots) = ([list.tree, list.ownerTree ?? other ?? list.tree], [])
                title = "\(trees[0]) with \(trees[1])"
            }
        }
    }
}

/// The contribution of one entry of a tree of links to a comparison.
struct LinkShare {
    let list: Int
    let hash: ContentHash
    /// Whether the entry belongs to the first of the two sides.
    let isFirst: Bool

    /// Calls `body` with the shares of a link: two, if the relationship is its own inverse.
    static func forEach(
        of link: LinkEntry, _ index: Int, isOwnerTree: Bool, _ schema: ObjectSchema, _ body: (LinkShare) -> Void
    ) {
        let list = schema.lists[index]
        let (here, turned) = (
            ContentHash(link.owner, link.destination), ContentHash(link.destination, link.owner)
        )
        guard list.inverse != nil else {
            return body(LinkShare(list: index, hash: here, isFirst: !isOwnerTree))
        }
        if list.isDerived {
            let hash = ContentHash(link.owner, link.destination, link.number)
            return body(LinkShare(list: index, hash: hash, isFirst: false))
        }
        guard let other = schema.inverseLists[index] else { return }
        if index <= other { body(LinkShare(list: index, hash: here, isFirst: true)) }
        if other <= index { body(LinkShare(list: other, hash: turned, isFirst: false)) }
    }
}

/// The second reading of trees that differ.
final class Differences {
    static let bucketCountMax = 64
    private static let itemCountMax = 1 << 18

    /// A tree to read again; trees of rows are sorted first.
    struct Source {
        let name: String
        let role: TreeRole
        let rank: Int
    }
    /// A thing that one side has and the other lacks.
    private struct Item {
        var balance: Int
        let text: String
        let tree: String
        let key: String
    }

    private let rows: RowCheck
    private let buckets: [ComparisonID: Set<Int>]
    private var items: [ComparisonID: [ContentHash: Item]] = [:]
    private var itemCount = 0
    private var overflowed: Set<ComparisonID> = []

    init(_ rows: RowCheck, _ buckets: [ComparisonID: Set<Int>]) { (self.rows, self.buckets) = (rows, buckets) }

    /// The trees to read again.
    var trees: [Source] {
        let roles = TreeRole.all(rows.schema)
        var names: [String: Int] = [:]
        for id in buckets.keys {
            let comparison = Comparison(id, rows.schema)
            for tree in comparison.trees { names[tree] = 1 }
            for root in comparison.roots { names[rows.schema.rowTree(ofRoot: root)] = 0 }
        }
        return names.sorted { $0.key < $1.key }.compactMap { name, rank in
            roles[name].map { Source(name: name, role: $0, rank: rank) }
        }
    }

    /// The closure that is called with each entry of a tree.
    func visitor(of source: Source) -> (Key, [UInt8]) -> Void {
        switch source.role {
        case .rows(let root): { [unowned self] key, value in takeRow(key.integer, value, source.name, root) }
        case .group(let group): { [unowned self] key, value in takeEntry(key.bytes, value, source.name, group) }
        case .links(let list): { [unowned self] key, value in takeLink(key.bytes, value, source, list, false) }
        case .owners(let list): { [unowned self] key, value in takeLink(key.bytes, value, source, list, true) }
        case .schema, .counters, .metadata: { _, _ in }
        }
    }

    private func takeRow(_ key: UInt64, _ value: [UInt8], _ tree: String, _ root: Int) {
        guard let row = try? rows.row(value, key: key, root: root) else { return }
        let schema = rows.schema
        rows.forEachEntry(of: row, key: key) { group, entry in
            count(.group(group), ContentHash(entry), 1) {
                ("the row has no entry in tree \"\(schema.groups[group].tree)\"", tree, "\(key)")
            }
        }
        rows.forEachLink(of: row, key: key) { list, owner, hash in
            count(.list(list), hash, 1) {
                (
                    "the row leads to \(owner), whose list in tree \"\(schema.lists[list].tree)\" lacks it", tree,
                    "\(key)"
                )
            }
        }
    }

    private func takeEntry(_ key: [UInt8], _ value: [UInt8], _ tree: String, _ group: Int) {
        count(.group(group), ContentHash(key + value), -1) {
            let row = key.count > 8 ? "\(key.u64(key.count - 8).byteSwapped)" : "?"
            return ("the entry differs from the one that its row \(row) requires", tree, key.hexadecimal)
        }
    }

    private func takeLink(_ key: [UInt8], _ value: [UInt8], _ source: Source, _ index: Int, _ isOwnerTree: Bool) {
        var check = LinkCheck(rows.schema.lists[index], isOwnerTree: isOwnerTree)
        guard let link = try? check.link(key, value, rows, { _ in }) else { return }
        let isDerived = rows.schema.lists[index].isDerived
        LinkShare.forEach(of: link, index, isOwnerTree: isOwnerTree, rows.schema) { share in
            count(.list(share.list), share.hash, share.isFirst ? 1 : -1) {
                let what = "the link from \(link.owner) to \(link.destination)"
                return (
                    isDerived ? "\(what) contradicts the row" : "\(what) is missing in the other direction",
                    source.name, key.hexadecimal
                )
            }
        }
    }

    private func count(
        _ id: ComparisonID, _ hash: ContentHash, _ share: Int,
        _ describe: () -> (text: String, tree: String, key: String)
    ) {
        guard let buckets = buckets[id], buckets.contains(MultisetSketch.bucket(of: hash)), !overflowed.contains(id)
        else { return }
        if let item = items[id]?[hash] {
            if item.balance + share == 0 {
                items[id]?[hash] = nil
                itemCount -= 1
            } else {
                items[id]?[hash]?.balance += share
            }
            return
        }
        guard itemCount < Self.itemCountMax else {
            overflowed.insert(id)
            itemCount -= items[id]?.count ?? 0
            items[id] = nil
            return
        }
        itemCount += 1
        let (text, tree, key) = describe()
        items[id, default: [:]][hash] = Item(balance: share, text: text, tree: tree, key: key)
    }

    /// Reports every difference found.
    func report(_ add: (_ tree: String, _ key: String, Breach) -> Void) {
        for id in buckets.keys.sorted(by: { $0.rank < $1.rank }) {
            let comparison = Comparison(id, rows.schema)
            let rule: Int =
                switch id {
                case .group: 121
                case .list(let index): rows.schema.lists[index].isDerived ? 133 : 134
                }
            let found = (items[id] ?? [:]).values.sorted { ($0.tree, $0.key) < ($1.tree, $1.key) }
            for item in found { add(item.tree, item.key, Breach(rule, 0, item.text)) }
            if overflowed.contains(id) || found.isEmpty {
                let text = "\(comparison.title): they differ in more places than can be listed"
                add(comparison.trees[0], "", Breach(rule, 0, text))
            }
        }
    }
}

extension ComparisonID {
    /// Groups are reported before lists.
    fileprivate var rank: (Int, Int) {
        switch self {
        case .group(let index): (0, index)
        case .list(let index): (1, index)
        }
    }
}
