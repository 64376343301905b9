// Section 9: which pages are referred to. Rules 4 and 90.
//
// Invariants
//   1. Only pages that have bytes are recorded, so a forged page count or reference costs no memory.

/// The pages that something refers to.
struct PageUses {
    private var inFile: [Bool]
    private var beyondFile: Set<UInt32> = []

    init(filePageCount: UInt64) { inFile = [Bool](repeating: false, count: Int(filePageCount)) }

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

    func contains(_ page: UInt32) -> Bool {
        Int(page) < inFile.count ? inFile[Int(page)] : beyondFile.contains(page)
    }

    private mutating func insert(_ page: UInt32) -> Bool {
        guard !contains(page) else { return false }
        if Int(page) < inFile.count { inFile[Int(page)] = true } else { beyondFile.insert(page) }
        return true
    }
}
