// FileFormat.md, section 7: the catalog, which is tree 1, and its records against their trees. Rules 76 to 79.

/// The walk over the catalog.
struct Catalog {
    private(set) var records: [CatalogRecord] = []
    private(set) var isComplete = false
    private let pages: PageImages

    init(_ pages: PageImages) { self.pages = pages }

    /// Reads all records; reports the records that break rule 79 and leaves them out.
    mutating func walk(_ uses: inout PageUses, _ findings: inout AuditFindings) throws(AuditFailure) {
        var entries: [(name: [UInt8], value: [UInt8])] = []
        let root = pages.state.catalogRoot
        var walk = TreeWalk(pages, TreeIdentity(tree: 1, hasIntegerKeys: false, name: [])) { key, value in
            guard case .bytes(let name) = key else { return }
            entries.append((name, value))
        }
        try walk.run(root: root, from: .page(0, offset: 0), &uses, &findings)
        isComplete = walk.isComplete
        var numbers: Set<UInt32> = []
        for (name, value) in entries {
            do throws(Breach) {
                let record = try CatalogRecord(name: name, value, pages.state)
                guard numbers.insert(record.tree).inserted else {
                    throw Breach(79, 0, "tree \(record.tree) has two names")
                }
                records.append(record)
            } catch {
                isComplete = false
                let title = String(decoding: name, as: UTF8.self)
                findings.add(
                    error.rule, .page(root, offset: 0),
                    "the record of tree \"\(title)\" has, at its byte \(error.offset), \(error.text)")
            }
        }
    }
}

extension CatalogRecord {
    /// The place reported for the reference to the root: offset 0 of the root page itself.
    var place: AuditFinding.Place { .page(root, offset: 0) }

    /// The identity that every page of the tree must have.
    var identity: TreeIdentity { TreeIdentity(tree: tree, hasIntegerKeys: hasIntegerKeys, name: name) }

    /// Rules 76 to 78.
    func compare(with walk: TreeWalk, _ findings: inout AuditFindings) {
        func compare(_ rule: Int, _ what: String, _ stated: UInt64, _ found: UInt64) {
            guard stated != found else { return }
            findings.add(
                rule, place, "the catalog states \(stated) \(what) for tree \"\(title)\", but there are \(found)")
        }
        compare(76, "entries", entryCount, walk.counts.entryCount)
        compare(77, "leaf pages", leafPageCount, walk.counts.leafPageCount)
        compare(78, "levels", UInt64(height), UInt64(walk.rootLevel ?? 0) + 1)
    }
}
