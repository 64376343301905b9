// dbtool looks into Espalier files from a command line; all it does stands in `DBTool.run`, which tests call too.

import Foundation

let console = Console(output: FileSink(.standardOutput), errors: FileSink(.standardError))
exit(DBTool.run(arguments: Array(CommandLine.arguments.dropFirst()), console: console).rawValue)
