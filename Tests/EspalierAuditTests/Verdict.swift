// What the two checkers say of the same bytes, in the same words.

import EspalierEngine
import TestSupport

@testable import EspalierAudit

/// What one checker says.
enum Verdict: CustomStringConvertible {
    case ok
    /// These rules are broken.
    case damaged(Set<Int>)
    /// The files are no store that can be judged.
    case refused(String)

    /// The audit's verdict.
    static func audit(_ files: ForgedStore) -> Verdict {
        do throws(AuditFailure) {
            let report = try StoreAudit.run(store: files.store, log: files.log)
            return report.isOK ? .ok : .damaged(Set(report.findings.list.map(\.rule)))
        } catch {
            return .refused("\(error)")
        }
    }

    /// The rules that a page can break by itself, in sections 3 to 6 of the format document.
    private static let rulesOfOnePage = 1...53

    /// The pages that are broken by themselves, as the audit sees it.
    private static func brokenPagesOfAudit(_ files: ForgedStore) -> Set<UInt32> {
        let findings = (try? StoreAudit.run(store: files.store, log: files.log))?.findings.list ?? []
        return Set(
            findings.compactMap { finding in
                guard rulesOfOnePage.contains(finding.rule), case .page(let page, _) = finding.place else {
                    return nil
                }
                return page
            })
    }

    /// The same, as the engine's own check sees it.
    private static func brokenPagesOfEngine(_ files: ForgedStore) -> Set<UInt32> {
        let findings = (try? check(files).findings) ?? []
        return Set(
            findings.compactMap { finding in
                rulesOfOnePage.contains(Int(finding.corruption.rule.rawValue)) ? finding.corruption.page : nil
            })
    }

    /// Whether both name one page that is broken by itself: of several rules that it breaks each names the first it
    /// meets, and the format does not say which that is.
    static func blameOnePage(_ files: ForgedStore) -> Bool {
        !brokenPagesOfAudit(files).isDisjoint(with: brokenPagesOfEngine(files))
    }

    /// The pages that the audit names; `nil` for the log.
    static func placesOfAudit(_ files: ForgedStore) -> [UInt32?] {
        let findings = (try? StoreAudit.run(store: files.store, log: files.log))?.findings.list ?? []
        return findings.map { finding in
            guard case .page(let page, _) = finding.place else { return nil }
            return page
        }
    }

    /// The engine's own check.
    private static func check(_ files: ForgedStore) throws(StorageError) -> CheckReport {
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: files.store)
        if let log = files.log { system.replaceContents(of: "store-wal", with: log) }
        var options = DatabaseOptions()
        options.access = .readOnly
        options.createIfMissing = false
        let database = try Database.open("store", in: system, options: options)
        let report = try database.check()
        try database.close()
        return report
    }

    /// The verdict of the engine's own check.
    static func engine(_ files: ForgedStore) -> Verdict {
        do throws(StorageError) {
            let report = try check(files)
            return report.isOK ? .ok : .damaged(Set(report.findings.map { Int($0.corruption.rule.rawValue) }))
        } catch {
            switch error {
            case .corruption(let corruption): return .damaged([Int(corruption.rule.rawValue)])
            // Which frame rule is broken is not told.
            case .opening(.logCorrupt): return .damaged([60, 61, 62, 63, 64])
            case .opening(.logMissing): return .damaged([60])
            case .opening(.notAStore(.damagedSuperblock)): return .damaged([10])
            default: return .refused("\(error)")
            }
        }
    }

    /// Whether both say the same: the same outcome, and at least one rule in common.
    func agrees(with other: Verdict) -> Bool {
        switch (self, other) {
        case (.ok, .ok), (.refused, .refused): true
        case (.damaged(let left), .damaged(let right)): !left.isDisjoint(with: right)
        case (.ok, _), (.damaged, _), (.refused, _): false
        }
    }

    var description: String {
        switch self {
        case .ok: "ok"
        case .damaged(let rules): "damaged \(rules.sorted())"
        case .refused(let reason): "refused (\(reason))"
        }
    }
}
