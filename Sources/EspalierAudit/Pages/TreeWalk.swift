// FileFormat.md, section 7: the walk over one tree: every page under all rules, and each page against the page that
// refers to it.
//
// Invariants
//   1. No page is walked twice, even if several pages refer to it; levels strictly descend, so the walk ends.

/// The counts of a walk over a tree.
package struct TreeCounts: Hashable, Sendable {
    package var entryCount: UInt64 = 0
    package var leafPageCount: UInt64 = 0
    package var interiorPageCount: UInt64 = 0
    package var overflowPageCount: UInt64 = 0

    /// The number of pages of all kinds.
    package var pageCount: UInt64 { leafPageCount + interiorPageCount + overflowPageCount }
}

/// The number, the kind of keys and the name that all pages of a tree must agree with.
struct TreeIdentity {
    let tree: UInt32
    let hasIntegerKeys: Bool
    let name: [UInt8]

    var rootTag: UInt32 { UInt32(truncatingIfNeeded: XXH3.hash(name)) }
}

/// The walk over one tree.
struct TreeWalk {
    /// A reference to a page: its place, and the properties that the page must have.
    private struct Reference {
        let page: UInt32
        let place: AuditFinding.Place
        let range: KeyInterval
        /// `nil` for a reference to the root.
        let level: Int?

        var isToRoot: Bool { level == nil }
    }

    private let pages: PageImages
    private let identity: TreeIdentity
    /// Is called with each entry.
    ///
    /// Without it, values on overflow pages are checked but not collected.
    private let visit: ((Key, [UInt8]) -> Void)?
    private(set) var counts = TreeCounts()
    private(set) var rootLevel: Int?
    /// Whether every page could be walked; otherwise the counts are too small.
    private(set) var isComplete = true

    init(_ pages: PageImages, _ identity: TreeIdentity, visit: ((Key, [UInt8]) -> Void)? = nil) {
        (self.pages, self.identity, self.visit) = (pages, identity, visit)
    }

    /// Walks the tree with this root; the reference to the root is at `place`.
    mutating func run(
        root: UInt32, from place: AuditFinding.Place, _ uses: inout PageUses, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        try walk(Reference(page: root, place: place, range: KeyInterval(), level: nil), &uses, &findings)
    }

    private mutating func walk(
        _ reference: Reference, _ uses: inout PageUses, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        guard let bytes = try uses.claim(reference.page, from: reference.place, pages, &findings) else {
            isComplete = false
            return
        }
        let (header, page): (PageHeader, TreePage)
        do throws(Breach) {
            header = try PageHeader.verified(bytes, number: reference.page, in: pages)
            page = try decoded(bytes, header, reference)
        } catch {
            isComplete = false
            return findings.add(error.rule, .page(reference.page, offset: error.offset), error.text)
        }
        if reference.isToRoot { rootLevel = header.level }
        guard page.isLeaf else {
            counts.interiorPageCount += 1
            for child in page.children {
                let place = AuditFinding.Place.page(reference.page, offset: child.offset)
                let next = Reference(page: child.page, place: place, range: child.range, level: header.level - 1)
                try walk(next, &uses, &findings)
            }
            return
        }
        counts.leafPageCount += 1
        counts.entryCount += UInt64(page.entries.count)
        for entry in page.entries { try take(entry, in: reference.page, &uses, &findings) }
    }

    /// Decodes the page and checks it against the reference; rules 3, 20 to 33, 70 to 75 and 80.
    private func decoded(
        _ bytes: [UInt8], _ header: PageHeader, _ reference: Reference
    ) throws(Breach) -> TreePage {
        let isInteger: Bool
        switch header.kind {
        case .interiorBytes, .leafBytes: isInteger = false
        case .interiorInteger, .leafInteger: isInteger = true
        case .overflow, .bitmap, .free, nil:
            throw Breach(3, 12, "a reference to a tree page leads to a page of another kind")
        }
        let page = try TreePage(bytes, header)
        if header.tree != identity.tree {
            throw Breach(70, 24, "a page of tree \(header.tree) is in tree \(identity.tree)")
        }
        if isInteger != identity.hasIntegerKeys { throw Breach(72, 12, "the kind of keys is not the tree's") }
        if header.isRoot != reference.isToRoot {
            throw Breach(75, 13, header.isRoot ? "an inner page has the root flag" : "the root lacks the root flag")
        }
        if let level = reference.level, header.level != level {
            throw Breach(71, 14, "a page of level \(level + 1) refers to a page of level \(header.level)")
        }
        if header.level >= TreeFrame.levelCountMax { throw Breach(74, 14, "level \(header.level) is too high") }
        if page.fences != reference.range {
            throw Breach(73, 40, "the fences are not the separators around the reference")
        }
        if reference.isToRoot, page.rootTag != identity.rootTag {
            throw Breach(80, 44, "the tag is not that of the tree's name")
        }
        return page
    }

    // MARK: Values

    private mutating func take(
        _ entry: TreePage.Entry, in leaf: UInt32, _ uses: inout PageUses, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        switch entry.content {
        case .value(let value): visit?(entry.key, value)
        case .overflow(let reference):
            let place = AuditFinding.Place.page(leaf, offset: entry.offset)
            var chain = OverflowChain(pages, tree: identity.tree, keepsBytes: visit != nil)
            try chain.walk(reference, from: place, &uses, &findings)
            counts.overflowPageCount += chain.pageCount
            if !chain.isComplete { isComplete = false }
            if chain.isComplete { visit?(entry.key, chain.bytes) }
        // A leaf has no children.
        case .child: break
        }
    }
}
