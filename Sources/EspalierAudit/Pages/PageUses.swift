// Section 9: which pages are referred to. Rules 4 and 90.
//
// Invariants
//   1. Memory is in proportion to the pages that have bytes and are referred to, 64 of them at a time; neither a page
//      count nor the length of a file with holes costs any.

/// The pages that something refers to.
struct PageUses {
    /// By page number / 64, a bit for each page.
    private var words: [UInt32: UInt64] = [:]

    /// The bytes of a page that is referred to at `place`; `nil`, and a finding, if it cannot be referred to there.
    mutating func claim(
        _ page: UInt32, from place: AuditFinding.Place, _ pages: PageImages, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> [UInt8]? {
        guard page < pages.state.pageCount else {
            findings.add(4, place, "a reference to page \(page), where the store has \(pages.state.pageCount)")
            return nil
        }
        guard let bytes = try pages.page(page) else {
            findings.add(4, place, "a reference to page \(page), which neither file holds")
            return nil
        }
        guard page != 0, insert(page) else {
            findings.add(90, place, "page \(page) is referred to more than once")
            return nil
        }
        return bytes
    }

    func contains(_ page: UInt32) -> Bool { words[page / 64, default: 0] & 1 << UInt64(page % 64) != 0 }

    private mutating func insert(_ page: UInt32) -> Bool {
        guard !contains(page) else { return false }
        words[page / 64, default: 0] |= 1 << UInt64(page % 64)
        return true
    }
}
