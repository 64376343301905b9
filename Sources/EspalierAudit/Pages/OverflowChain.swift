// FileFormat.md, section 5: the chain of pages that holds one value. Rules 3, 41, 43, 70, 90.
//
// Invariants
//   1. The walk of a chain that is longer than its value or has a cycle ends at the first superfluous page.

/// The walk over the pages of one value.
struct OverflowChain {
    private let pages: PageImages
    private let tree: UInt32
    private let keepsBytes: Bool
    private(set) var bytes: [UInt8] = []
    private(set) var pageCount: UInt64 = 0
    /// Whether every page of the chain is valid.
    private(set) var isComplete = false

    init(_ pages: PageImages, tree: UInt32, keepsBytes: Bool) {
        (self.pages, self.tree, self.keepsBytes) = (pages, tree, keepsBytes)
    }

    mutating func walk(
        _ reference: OverflowReference, from place: AuditFinding.Place, _ uses: inout PageUses,
        _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        var (number, place, rest) = (reference.first, place, reference.byteCount)
        // The run length that the previous page implies for this page; `nil` at the start of a run.
        var announced: UInt32?
        var hasPartialPage = false
        while true {
            guard let image = try uses.claim(number, from: place, pages, &findings) else { return }
            do throws(Breach) {
                let page = try verified(image, number: number, announced: announced)
                pageCount += 1
                let count = UInt64(page.content.count)
                guard count <= rest, (page.next == 0) == (count == rest) else {
                    throw Breach(43, 32, "the chain does not contain the \(reference.byteCount) bytes of its value")
                }
                if page.next != 0, page.content.upperBound < image.count {
                    if hasPartialPage { throw Breach(43, 30, "two pages before the last are not full") }
                    hasPartialPage = true
                }
                if keepsBytes { bytes += image[page.content] }
                rest -= count
                if page.next == 0 {
                    isComplete = true
                    return
                }
                announced = page.runLength > 1 ? page.runLength - 1 : nil
                place = .page(number, offset: 32)
                number = page.next
            } catch {
                return findings.add(error.rule, .page(number, offset: error.offset), error.text)
            }
        }
    }

    private func verified(_ image: [UInt8], number: UInt32, announced: UInt32?) throws(Breach) -> OverflowPage {
        let header = try PageHeader.verified(image, number: number, in: pages)
        if header.kind != .overflow, header.kind != .bitmap, header.kind != .free {
            // A damaged tree page is reported under its own rules, before rule 3.
            _ = try TreePage(image, header)
        }
        guard header.kind == .overflow else {
            throw Breach(3, 12, "a reference to an overflow page leads to a page of another kind")
        }
        if header.tree != tree { throw Breach(70, 24, "a page of tree \(header.tree) is in tree \(tree)") }
        let page = try OverflowPage(image, header)
        if let announced, page.runLength != announced {
            throw Breach(
                41, 36, "the page begins a run of \(page.runLength) pages, but the page before it leaves \(announced)")
        }
        return page
    }
}
