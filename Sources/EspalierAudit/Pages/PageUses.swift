// FileFormat.md, section 9: the set of pages that are referred to. Rules 4 and 90.
//
// Invariants
//   1. Memory is proportional to the pages that exist and are referred to, in units of 64 pages. It does not grow with
//      the page count or with the length of a file with holes.

/// The pages that have a reference.
struct PageUses {
    /// One bit per page, by page number / 64.
    private var words: [UInt32: UInt64] = [:]

    /// Reads a page and marks it as used.
    ///
    /// Returns `nil` and adds a finding if the reference at `place` is not allowed: the page does not exist (rule 4),
    /// or is page 0 or already in use (rule 90).
    mutating func claim(
        _ page: UInt32, from place: AuditFinding.Place, _ pages: PageImages, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> [UInt8]? {
        guard page < pages.state.pageCount else {
            findings.add(
                4, place, "a reference leads to page \(page), but the store has only \(pages.state.pageCount) pages")
            return nil
        }
        guard let bytes = try pages.page(page) else {
            findings.add(4, place, "a reference leads to page \(page), which neither the store nor the log has")
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
