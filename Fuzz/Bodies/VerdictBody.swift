// Two checkers without common code, on untrusted bytes.
//
// Promises
//   1. A store that the independent audit finds whole, the engine can open for reading, and its own check finds whole;
//      and the reverse, except for the rules of page 0 that only the tool checks.
// The broken rules are not compared: on a store with several faults each checker may stop at a different one.

import EspalierAudit
import EspalierEngine
import TestSupport

extension FuzzBody {
    /// The bytes are a store file and its log, as for `both`.
    public static let verdicts = FuzzBody(
        name: "verdicts", seeds: both.seeds, repair: both.repair,
        run: { bytes in
            let pair = ImagePair(bytes)
            // Only one of the two checkers treats an empty log as a missing one, so neither gets an empty log.
            let log = pair.log.isEmpty ? nil : pair.log
            guard let audit = auditIsOK(pair.store, log) else { return }
            let check = checkIsOK(pair.store, log)
            precondition(audit == check, "whole: the audit says \(audit), the engine's check \(check)")
        })

    /// The rules of page 0 that the tool checks beside the engine; the engine may check some of them too.
    private static let rulesOfTheTool: Set = [5, 12, 13]

    /// Whether the audit finds nothing; `nil` if all of its findings are beyond the engine's knowledge.
    private static func auditIsOK(_ store: [UInt8], _ log: [UInt8]?) -> Bool? {
        do throws(AuditFailure) {
            let report = try StoreAudit.run(store: store, log: log)
            if report.isOK { return true }
            let isUnknown = report.findings.list.allSatisfy { finding in
                switch finding.place {
                case .page(0, _): rulesOfTheTool.contains(finding.rule)
                case .page, .log: false
                // The engine does not know the content that an object store keeps in its trees.
                case .tree: true
                }
            }
            return isUnknown && report.findings.count == report.findings.list.count ? nil : false
        } catch {
            return false
        }
    }

    private static func checkIsOK(_ store: [UInt8], _ log: [UInt8]?) -> Bool {
        let system = SimulatedFileSystem(seed: 3)
        system.replaceContents(of: ImageFixture.path, with: store)
        if let log { system.replaceContents(of: ImageFixture.logPath, with: log) }
        var options = DatabaseOptions.small
        (options.access, options.createIfMissing) = (.readOnly, false)
        do throws(StorageError) {
            let database = try Database.open(ImageFixture.path, in: system, options: options)
            let isOK = try database.check().isOK
            try database.close()
            return isOK
        } catch {
            return false
        }
    }
}
