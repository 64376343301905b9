// dbtool inspects Espalier files from a command line; its code is in `DBTool.run`, which tests call too.

import Foundation

let console = Console(output: FileSink(.standardOutput), errors: FileSink(.standardError))
exit(DBTool.run(arguments: Array(CommandLine.arguments.dropFirst()), console: console).rawValue)
