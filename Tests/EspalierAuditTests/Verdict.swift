// The verdicts of the two checkers on the same bytes, in the same form.

import EspalierEngine
import TestSupport

@testable import EspalierAudit

/// The verdict of one checker.
enum Verdict: CustomStringConvertible {
    case ok
    /// These rules are broken.
    case damaged(Set<Int>)
    /// The files are no store that can be judged.
    case refused(String)

    /// The audit's verdict.
    static func audit(_ files: ForgedFiles) -> Verdict {
        do throws(AuditFailure) {
            let report = try StoreAudit.run(store: files.store, log: files.log)
            return report.isOK ? .ok : .damaged(Set(report.findings.list.map(\.rule)))
        } catch {
            return .refused("\(error)")
        }
    }

    /// The rules that a page can break by itself, in sections 3 to 6 of the format document.
    private static let rulesOfOnePage = 1...53

    /// The pages that are broken by themselves according to the audit.
    private static func brokenPagesOfAudit(_ files: ForgedFiles) -> Set<UInt32> {
        let findings = (try? StoreAudit.run(store: files.store, log: files.log))?.findings.list ?? []
        return Set(
            findings.compactMap { finding in
                guard rulesOfOnePage.contains(finding.rule), case .page(let page, _) = finding.place else {
                    return nil
                }
                return page
            })
    }

    /// The pages that are broken by themselves according to the engine's own check.
    private static func brokenPagesOfEngine(_ files: ForgedFiles) -> Set<UInt32> {
        let findings = (try? check(files).findings) ?? []
        return Set(
            findings.compactMap { finding in
                rulesOfOnePage.contains(Int(finding.corruption.rule.rawValue)) ? finding.corruption.page : nil
            })
    }

    /// Whether both checkers name one page that is broken by itself; if it breaks several rules, each checker names the
    /// first that it meets, and the format does not say which that is.
    static func blameOnePage(_ files: ForgedFiles) -> Bool {
        !brokenPagesOfAudit(files).isDisjoint(with: brokenPagesOfEngine(files))
    }

    /// The pages of the audit's findings; `nil` for a finding in the log.
    static func placesOfAudit(_ files: ForgedFiles) -> [UInt32?] {
        let findings = (try? StoreAudit.run(store: files.store, log: files.log))?.findings.list ?? []
        return findings.map { finding in
            guard case .page(let page, _) = finding.place else { return nil }
            return page
        }
    }

    /// The report of the engine's own check.
    private static func check(_ files: ForgedFiles) throws(StorageError) -> CheckReport {
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
    static func engine(_ files: ForgedFiles) -> Verdict {
        do throws(StorageError) {
            let report = try check(files)
            return report.isOK ? .ok : .damaged(Set(report.findings.map { Int($0.corruption.rule.rawValue) }))
        } catch {
            switch error {
            case .corruption(let corruption): return .damaged([Int(corruption.rule.rawValue)])
            // The error does not say which frame rule is broken.
            case .opening(.logCorrupt): return .damaged([60, 61, 62, 63, 64])
            case .opening(.logMissing): return .damaged([60])
            case .opening(.notAStore(.damagedSuperblock)): return .damaged([10])
            default: return .refused("\(error)")
            }
        }
    }

    /// Whether two verdicts have the same outcome and, if it is damage, at least one rule in common.
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
