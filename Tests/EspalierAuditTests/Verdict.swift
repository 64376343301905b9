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

    /// The pages that the audit names; `nil` for the log.
    static func placesOfAudit(_ files: ForgedStore) -> [UInt32?] {
        let findings = (try? StoreAudit.run(store: files.store, log: files.log))?.findings.list ?? []
        return findings.map { finding in
            guard case .page(let page, _) = finding.place else { return nil }
            return page
        }
    }

    /// The verdict of the engine's own check.
    static func engine(_ files: ForgedStore) -> Verdict {
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: files.store)
        if let log = files.log { system.replaceContents(of: "store-wal", with: log) }
        var options = DatabaseOptions()
        options.access = .readOnly
        options.createIfMissing = false
        do throws(StorageError) {
            let database = try Database.open("store", in: system, options: options)
            let report = try database.check()
            try database.close()
            return report.isOK ? .ok : .damaged(Set(report.findings.map { Int($0.corruption.rule.rawValue) }))
        } catch {
            switch error {
            case .corruption(let corruption): return .damaged([Int(corruption.rule.rawValue)])
            // Which frame rule is broken is not told.
            case .logCorrupt: return .damaged([60, 61, 62, 63, 64])
            case .logMissing: return .damaged([60])
            case .notAStore(.damagedSuperblock): return .damaged([10])
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
