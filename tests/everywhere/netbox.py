"""Runs the tests of `bomgen push netbox` with a real NetBox: PostgreSQL and Redis of Debian, NetBox of PyPI.

`make netbox` runs it (as root, with mmdebstrap). The system below build/netbox/ is installed once; remove the folder to
install it anew. `--serve` only starts the server and prints its address and token.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from roots import enter, install_debian

CHECKOUT = Path(__file__).parents[2]
ROOT = CHECKOUT / "build" / "netbox"
SUITE, PACKAGES = "trixie", "python3,python3-venv,postgresql,redis-server"
"""NetBox 4.7 asks for Python 3.12 and PostgreSQL 14."""
NETBOX = "netbox==4.7.3"
PORT, REDIS_PORT = 8997, 63797
URL = f"http://127.0.0.1:{PORT}"
CONFIGURATION = f"""
ALLOWED_HOSTS = ["*"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", "NAME": "netbox", "USER": "root",
                          "HOST": "/var/run/postgresql", "CONN_MAX_AGE": 300}}}}
REDIS = {{name: {{"HOST": "127.0.0.1", "PORT": {REDIS_PORT}, "DATABASE": number}}
         for number, name in enumerate(("tasks", "caching"))}}
SECRET_KEY = API_PEPPER = "not-secret-it-is-a-server-of-tests-that-nobody-else-can-reach"
API_TOKEN_PEPPERS = {{1: API_PEPPER}}
CENSUS_REPORTING_ENABLED = False
"""
INSTALL = f"""
python3 -m venv /srv/netbox
/srv/netbox/bin/pip install --quiet --no-deps {NETBOX}
/srv/netbox/bin/python -c 'from importlib.metadata import requires
for line in requires("netbox"):
    if "extra ==" not in line:
        print(line.replace("psycopg[c,", "psycopg[binary,"))' > /srv/netbox/packages.txt
/srv/netbox/bin/pip install --quiet --requirement /srv/netbox/packages.txt
mkdir -p /srv/netbox/conf
"""
"""Psycopg in C is there as source alone; its binary is the same."""
SERVE = f"""
export NETBOX_ROOT=/srv/netbox DJANGO_SETTINGS_MODULE=netbox.settings
pg_ctlcluster --options "-c listen_addresses='' -c fsync=off" "$(ls /etc/postgresql)" main start
redis-server --port {REDIS_PORT} --bind 127.0.0.1 --save '' --daemonize yes > /dev/null
if ! test -e /srv/netbox/token; then
  as_postgres="setpriv --reuid=postgres --regid=postgres --clear-groups"
  $as_postgres createuser --superuser root 2> /dev/null || true
  $as_postgres createdb --owner root netbox 2> /dev/null || true
  /srv/netbox/bin/netbox migrate --verbosity 0
  /srv/netbox/bin/netbox shell --verbosity 0 --command 'from users.models import Token, User
user = User.objects.create_superuser("tests")
token = Token(user=user, version=2)
token.save()
open("/srv/netbox/token", "w").write(f"nbt_{{token.key}}.{{token.token}}")'
fi
exec /srv/netbox/bin/gunicorn --bind 127.0.0.1:{PORT} --workers 2 --timeout 300 --log-level warning netbox.wsgi
"""
STOP = f"""
redis-cli -p {REDIS_PORT} shutdown nosave || true
pg_ctlcluster "$(ls /etc/postgresql)" main stop --mode fast || true
"""


def main() -> int:
    """Install what is missing, start the server, run the tests, and return their exit code."""
    token = ROOT / "srv/netbox/token"
    if not (ROOT / "srv/netbox/conf/configuration.py").is_file():
        install_debian(SUITE, PACKAGES, ROOT)
        subprocess.run([*enter(ROOT), "sh", "-ec", INSTALL], check=True)
        (ROOT / "srv/netbox/conf/configuration.py").write_text(CONFIGURATION, "utf-8")
    server = subprocess.Popen([*enter(ROOT), "sh", "-ec", SERVE])
    try:
        _wait(server)
        environment = os.environ | {"NETBOX_URL": URL, "NETBOX_TOKEN": token.read_text("utf-8")}
        if "--serve" in sys.argv:
            print(f"{URL} with the token of {token}", flush=True)
            return server.wait()
        command = [sys.executable, "-m", "pytest", "-x", "--durations=5", "tests/output/test_netbox_push.py"]
        return subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode
    finally:
        server.terminate()
        server.wait()
        subprocess.run([*enter(ROOT), "sh", "-c", STOP], check=False)


def _wait(server: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers, the first time after all migrations. Raises RuntimeError if it ends."""
    while server.poll() is None:
        try:
            with urlopen(f"{URL}/login/"):  # noqa: S310 - the address is the one above
                return
        except URLError:
            time.sleep(1)
    raise RuntimeError("NetBox does not answer")


if __name__ == "__main__":
    sys.exit(main())
